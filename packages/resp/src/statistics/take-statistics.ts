import { HotIdentifiers } from './hot-identifiers.js';

/** Takes of one quota. */
export interface TakeCounts {
  allowed: number;
  denied: number;
  /** Tokens of the allowed takes. */
  tokens: number;
}

/** By the number of the quota. */
export type TakesByQuota = ReadonlyMap<number, Readonly<TakeCounts>>;

/** Numbers of quotas are never reused; the oldest are dropped first. */
const MAXIMUM_QUOTAS = 2000;

/** The takes decided by this thread. */
export class TakeStatistics {
  readonly hottest: HotIdentifiers;
  private readonly counts = new Map<number, TakeCounts>();
  /** Most takes are of the quota of the one before. */
  private lastQuota = -1;
  private last: TakeCounts = { allowed: 0, denied: 0, tokens: 0 };

  constructor(nowMs: () => number) {
    this.hottest = new HotIdentifiers(nowMs);
  }

  get byQuota(): TakesByQuota {
    return this.counts;
  }

  note(quota: number, cost: number, isAllowed: boolean, subject: Uint8Array, start: number, length: number): void {
    if (quota !== this.lastQuota) this.turnTo(quota);
    if (isAllowed) {
      this.last.allowed++;
      this.last.tokens += cost;
    } else {
      this.last.denied++;
    }
    this.hottest.note(quota, subject, start, length, isAllowed);
  }

  reset(): void {
    this.counts.clear();
    this.lastQuota = -1;
  }

  private turnTo(quota: number): void {
    let counts = this.counts.get(quota);
    if (counts === undefined) {
      counts = { allowed: 0, denied: 0, tokens: 0 };
      this.counts.set(quota, counts);
      if (this.counts.size > MAXIMUM_QUOTAS) this.counts.delete(this.counts.keys().next().value as number);
    }
    this.lastQuota = quota;
    this.last = counts;
  }
}

export function addTakes(all: readonly TakesByQuota[]): TakesByQuota {
  const sums = new Map<number, TakeCounts>();
  for (const [quota, { allowed, denied, tokens }] of all.flatMap((takes) => [...takes])) {
    const before = sums.get(quota);
    sums.set(quota, {
      allowed: allowed + (before?.allowed ?? 0),
      denied: denied + (before?.denied ?? 0),
      tokens: tokens + (before?.tokens ?? 0),
    });
  }
  return sums;
}
