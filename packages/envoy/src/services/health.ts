import { GrpcStatus } from '@quotadb/replication/grpc';
import { Refusal } from '../deciding/refusal.js';
import type { LastingMethod, Method, Methods, Replies, UnaryMethod } from '../door/method.js';
import { decodeHealthRequest, encodeHealthResponse, ServingStatus } from '../messages/health.js';

/** gRPC's own health check, open to callers without credentials: load balancers have none. */
export class HealthService {
  private readonly services: ReadonlySet<string>;
  private readonly watchers = new Map<Replies, string>();
  private isServing = false;

  constructor(services: readonly string[]) {
    this.services = new Set(['', ...services]);
  }

  /** Watching clients are notified of a change. */
  setServing(isServing: boolean): void {
    if (isServing === this.isServing) return;
    this.isServing = isServing;
    for (const [replies, service] of this.watchers) replies.send(encodeHealthResponse(this.statusOf(service)));
  }

  get methods(): Methods {
    const check: UnaryMethod = {
      kind: 'unary',
      isOpen: true,
      answer: (message, _, done) => {
        const status = this.statusOf(decodeHealthRequest(message));
        if (status === ServingStatus.serviceUnknown) throw new Refusal(GrpcStatus.notFound, 'there is no such service');
        done(encodeHealthResponse(status));
      },
    };
    const watch: LastingMethod = {
      kind: 'lasting',
      isOpen: true,
      open: (replies) => ({
        message: (bytes) => {
          const service = decodeHealthRequest(bytes);
          this.watchers.set(replies, service);
          replies.send(encodeHealthResponse(this.statusOf(service)));
        },
        ended: () => {},
        closed: () => this.watchers.delete(replies),
      }),
    };
    return new Map<string, Method>([
      ['/grpc.health.v1.Health/Check', check],
      ['/grpc.health.v1.Health/Watch', watch],
    ]);
  }

  private statusOf(service: string): ServingStatus {
    if (!this.services.has(service)) return ServingStatus.serviceUnknown;
    return this.isServing ? ServingStatus.serving : ServingStatus.notServing;
  }
}
