import { type Allotment, nameOfAllotment } from './allotment.js';
import { Deadlines } from './deadlines.js';
import type { Operations, Standing } from './operations.js';

/** Held at once by one node. */
const MAXIMUM_LEASES = 100_000;

export interface LeaseRequest {
  readonly name: string;
  readonly subject: Uint8Array;
  readonly ttlMs: number;
  readonly waitMs: number | undefined;
}

export type Acquired =
  | { readonly error: string }
  | { readonly isAllowed: boolean; readonly id: string; readonly standing: Standing };

export type Renewed =
  | { readonly error: string }
  /** How long the lease holds from now on; as before where there were no tokens to renew it with. */
  | { readonly isRenewed: boolean; readonly ttlMs: number; readonly retryAfterMs: number };

interface Lease {
  readonly name: string;
  readonly subject: Uint8Array;
  /** One for every window in which it holds a token, in their order. */
  allotments: readonly Allotment[];
  untilMs: number;
}

export interface LeasesOptions {
  readonly operations: Operations;
  readonly monotonicMs: () => number;
  /** A name that cannot be guessed. */
  readonly newId: () => string;
}

/**
 * Limits on leases that are held at once. A lease holds one token in every window that any clock within the bound
 * reaches before it ends; each window has the whole limit, so at no moment more leases than the limit are held, in all
 * regions together. Renewing it takes the tokens of further windows.
 *
 * A lease is kept by the node that gave it, in memory only. A crash loses tokens of windows that end soon: no token is
 * given out twice, and the windows after them begin with the whole limit.
 */
export class Leases {
  private readonly options: LeasesOptions;
  private readonly held = new Map<string, Lease>();
  private readonly deadlines: Deadlines;

  constructor(options: LeasesOptions) {
    this.options = options;
    this.deadlines = new Deadlines(options.monotonicMs());
  }

  acquire({ name, subject, ttlMs, waitMs }: LeaseRequest, done: (acquired: Acquired) => void): void {
    if (this.held.size >= MAXIMUM_LEASES) {
      done({ error: `there are ${MAXIMUM_LEASES} leases already` });
      return;
    }
    this.options.operations.hold({ name, subject, holdMs: ttlMs, waitMs }, (answer) => {
      if ('error' in answer) {
        done(answer);
        return;
      }
      const { isAllowed, standings, allotments } = answer;
      const id = isAllowed ? this.options.newId() : '';
      if (isAllowed) this.keep(id, { name, subject, allotments, untilMs: 0 }, ttlMs);
      done({ isAllowed, id, standing: standings[0] });
    });
  }

  /**
   * Makes it end `ttlMs` from now. Where one of the windows until then has no token left, it ends when it would have.
   */
  renew(id: string, ttlMs: number, waitMs: number | undefined, done: (renewed: Renewed) => void): void {
    const lease = this.held.get(id);
    if (lease === undefined) {
      done({ error: 'there is no such lease: it has ended, or was given before a restart' });
      return;
    }
    const { operations } = this.options;
    const { name, subject, allotments } = lease;
    const { policy, window } = allotments[allotments.length - 1];
    operations.hold({ name, subject, holdMs: ttlMs, held: { policy, upTo: window }, waitMs }, (answer) => {
      if ('error' in answer) {
        done(answer);
        return;
      }
      if (this.held.get(id) !== lease) {
        if (answer.isAllowed) this.giveBack(answer.allotments);
        done({ error: 'the lease has ended before it could be renewed' });
        return;
      }
      if (answer.isAllowed) {
        this.extend(lease, answer.allotments);
        this.keep(id, lease, ttlMs);
      }
      const retryAfterMs = answer.isAllowed ? 0 : answer.standings[0].retryAfterMs;
      done({ isRenewed: answer.isAllowed, ttlMs: this.leftMs(lease), retryAfterMs });
    });
  }

  /** False where there is no such lease any more. */
  release(id: string): boolean {
    const lease = this.held.get(id);
    if (lease === undefined) return false;
    this.held.delete(id);
    this.deadlines.delete(id);
    this.giveBack(lease.allotments);
    return true;
  }

  has(id: string): boolean {
    return this.held.has(id);
  }

  /** Ends leases that were not renewed in time. */
  tick(): void {
    this.deadlines.pass(this.options.monotonicMs(), (id) => this.release(id));
  }

  /** How many leases hold a token, by allotment. */
  outstanding(): Map<string, number> {
    const amounts = new Map<string, number>();
    for (const { allotments } of this.held.values())
      for (const allotment of allotments)
        amounts.set(nameOfAllotment(allotment), (amounts.get(nameOfAllotment(allotment)) ?? 0) + 1);
    return amounts;
  }

  private keep(id: string, lease: Lease, ttlMs: number): void {
    lease.untilMs = this.options.monotonicMs() + ttlMs;
    this.held.set(id, lease);
    this.deadlines.set(id, lease.untilMs);
  }

  /** Another renewal of the same lease may have been faster: tokens that are held twice go back. */
  private extend(lease: Lease, allotments: readonly Allotment[]): void {
    const last = lease.allotments[lease.allotments.length - 1].window;
    this.giveBack(allotments.filter(({ window }) => window <= last));
    // Tokens of windows that are over are worthless.
    lease.allotments = [...lease.allotments, ...allotments.filter(({ window }) => window > last)].filter(
      ({ policy, window }) => !this.options.operations.isOver(policy, window),
    );
  }

  private giveBack(allotments: readonly Allotment[]): void {
    for (const allotment of allotments) this.options.operations.taker.giveBack(allotment, 1);
  }

  private leftMs({ untilMs }: Lease): number {
    return Math.max(0, Math.ceil(untilMs - this.options.monotonicMs()));
  }
}
