import type { BucketUsage } from '../messages/quota-messages.js';
import type { Entry } from '../messages/rate-limit-request.js';
import { ASSIGNMENT_MS, FIRST_PART, GRACE_MS, HEADROOM, LOW_PART } from './bounds.js';

/** Tokens that were set aside for one assignment. */
export interface Share {
  readonly id: string;
  readonly tokens: number;
  readonly sentMs: number;
  readonly endsMs: number;
  /** When the window of its tokens ends. */
  readonly windowEndsMs: number;
  /** As far as it was reported. */
  used: number;
}

/** Windows have at least a second; ends of the same one differ by the moments between two clocks being read. */
const SAME_WINDOW_MS = 500;

/**
 * One bucket of one proxy: what it was given and what it has used. A share is settled when a report has come that its
 * proxy must have sent after it stopped using the share; until then all of it may be in use. A report does not say
 * which share it used: it counts for the newest window first, because tokens that come back there can be given out
 * again, while those of a window that is over are spent.
 */
export class Bucket {
  readonly entries: readonly Entry[];
  /** The oldest first. */
  private shares: Share[] = [];
  /** Requests that were allowed without a token: before the first assignment, or past its end. */
  private unpaid = 0;
  /** Requests in a millisecond; undefined before two reports. */
  private demand: number | undefined = undefined;
  private reports = 0;
  /** When the next assignment is due. */
  renewMs = 0;
  lastUsedMs: number;
  /** An assignment is being made. */
  isAssigning = false;

  constructor(entries: readonly Entry[], nowMs: number) {
    this.entries = entries;
    this.lastUsedMs = nowMs;
  }

  /** Takes note of a report, and returns the shares that are settled by it. */
  report({ allowed, denied, elapsedMs }: BucketUsage, nowMs: number): readonly Share[] {
    if (allowed + denied > 0) this.lastUsedMs = nowMs;
    if (this.reports++ > 0 && elapsedMs > 0) this.demand = (allowed + denied) / elapsedMs;
    const current = this.shares.filter((share) => this.isCurrent(share));
    const former = this.shares.filter((share) => !current.includes(share));
    this.unpaid += use(former, use(current, allowed));
    if (denied > 0 || this.isLow) this.renewMs = Math.min(this.renewMs, nowMs);
    return this.takeEnded(nowMs);
  }

  /** Whether a share is of the same window as the newest one. */
  private isCurrent({ windowEndsMs }: Share): boolean {
    const newest = this.shares.at(-1) as Share;
    return Math.abs(newest.windowEndsMs - windowEndsMs) < SAME_WINDOW_MS;
  }

  /** Whether the proxy has used nearly all that it was given last. */
  private get isLow(): boolean {
    const last = this.shares.at(-1);
    return last !== undefined && last.used >= last.tokens * LOW_PART;
  }

  /** Takes as many of the requests that have to be paid with the next share; at most a whole limit is owed. */
  takeUnpaid(limit: number, remaining: number): number {
    const paid = Math.min(this.unpaid, remaining);
    this.unpaid = Math.min(limit, this.unpaid - paid);
    return paid;
  }

  returnUnpaid(count: number): void {
    this.unpaid += count;
  }

  add(share: Share): void {
    this.shares.push(share);
  }

  /** The tokens to ask for: the demand while the assignment lasts, and never more than half of those that are left. */
  want(limit: number, remaining: number): number {
    const expected = this.demand === undefined ? limit * FIRST_PART : this.demand * ASSIGNMENT_MS * HEADROOM;
    return Math.min(Math.max(1, Math.ceil(expected)), Math.ceil(remaining / 2));
  }

  private takeEnded(nowMs: number): readonly Share[] {
    const ended = this.shares.filter((share, index) => {
      const replacedMs = this.shares[index + 1]?.sentMs ?? Number.POSITIVE_INFINITY;
      return nowMs >= Math.min(share.endsMs, replacedMs) + GRACE_MS;
    });
    for (const share of ended) if (!this.isCurrent(share)) share.used = share.tokens;
    this.shares = this.shares.filter((share) => !ended.includes(share));
    return ended;
  }
}

/** Counts requests for the shares, the oldest first; returns those that are left. */
function use(shares: readonly Share[], requests: number): number {
  let rest = requests;
  for (const share of shares) {
    const used = Math.min(rest, share.tokens - share.used);
    share.used += used;
    rest -= used;
  }
  return rest;
}
