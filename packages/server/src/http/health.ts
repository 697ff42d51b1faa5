import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { CountsEndpoint } from '@quotadb/counts';
import type { DashboardEndpoint } from '../dashboard/endpoint.js';
import type { Certificates } from '../tls/certificates.js';
import { traceRequests } from '../tracing/trace-requests.js';
import type { KeysEndpoint } from './keys.js';
import { boundConnections, type HttpLimits, serverOptions } from './limits.js';
import type { QuotasEndpoint } from './quotas/endpoint.js';
import type { WindowsEndpoint } from './windows/endpoint.js';

export interface HealthAnswers {
  /** Whether clients are being served; false while starting and stopping. */
  readonly isReady: () => boolean;
  /** What `/` tells about this server. */
  readonly describe: () => object;
  readonly metrics: (request: IncomingMessage, response: ServerResponse) => Promise<void>;
}

/** What answers beside health and metrics; each says whether an address is its own. */
export interface Endpoints {
  readonly counts: CountsEndpoint;
  readonly keys?: KeysEndpoint;
  readonly windows?: WindowsEndpoint;
  readonly quotas?: QuotasEndpoint;
  readonly dashboard?: DashboardEndpoint;
}

/** An HTTP port: the APIs, the metrics, and is it alive, is it ready, who is it. */
export class HealthServer {
  private readonly server: Server;
  private readonly answers: HealthAnswers;

  constructor(
    answers: HealthAnswers,
    { counts, keys, windows, quotas, dashboard }: Endpoints,
    limits: HttpLimits,
    { certificates, isTraced = false }: { certificates?: Certificates | undefined; isTraced?: boolean } = {},
  ) {
    this.answers = answers;
    const answerOne = (request: IncomingMessage, response: ServerResponse): void => {
      if (counts.handle(request, response) || keys?.handle(request, response)) return;
      if (windows?.handle(request, response) || quotas?.handle(request, response)) return;
      if (dashboard?.handle(request, response)) return;
      this.answer(request, response);
    };
    const handle = isTraced ? traceRequests(answerOne) : answerOne;
    if (certificates === undefined) {
      this.server = createServer(serverOptions(limits), handle);
      // What goes past node:http cannot be traced.
      if (!isTraced) counts.accelerate(this.server);
    } else {
      const server = createSecureServer({ ...certificates.options(), ...serverOptions(limits) }, handle);
      certificates.keepCurrent(server);
      this.server = server;
    }
    boundConnections(this.server, limits);
  }

  listen(host: string, port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      this.server.once('error', reject);
      this.server.listen({ host, port }, () => {
        this.server.removeListener('error', reject);
        const address = this.server.address();
        resolve(typeof address === 'object' && address !== null ? address.port : port);
      });
    });
  }

  close(): void {
    this.server.close();
    this.server.closeAllConnections();
  }

  private answer(request: IncomingMessage, response: ServerResponse): void {
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      send(response, 405, { error: 'only GET is served here' });
      return;
    }
    switch (request.url?.split('?')[0]) {
      case '/':
        send(response, 200, this.answers.describe());
        break;
      case '/healthz':
        send(response, 200, { alive: true });
        break;
      case '/readyz': {
        const ready = this.answers.isReady();
        send(response, ready ? 200 : 503, { ready });
        break;
      }
      case '/metrics':
        this.answers.metrics(request, response).catch(() => response.destroy());
        break;
      default:
        send(response, 404, { error: 'no such path' });
    }
  }
}

export function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(`${JSON.stringify(body)}\n`);
}
