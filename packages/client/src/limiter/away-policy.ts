/**
 * What a limiter does while its server cannot be reached. None of the three suits every program, so one must be chosen:
 *
 *   'open'           admits every request: being reachable matters more than the limit
 *   'closed'         denies every request: the limit protects a system that would break
 *   { share: 0.25 }  this process admits that part of the limit, in fixed windows of its own; with a share of 1/n, n
 *                    processes stay within the limit together
 */
export type WhenAway = 'open' | 'closed' | { readonly share: number };

export interface AwayDecision {
  readonly success: boolean;
  readonly remaining: number;
  /** Until the window of this process ends. */
  readonly untilMs: number;
}

/** A limit and its window; 0 is a window that never ends. */
interface AwayLimit {
  readonly limit: number;
  readonly windowMs: number;
}

export class AwayPolicy {
  readonly #policy: WhenAway;
  readonly #maxKeys: number;
  #windowStartMs = Number.NEGATIVE_INFINITY;
  /** All keys share the window, so that all counts end together. */
  #counts = new Map<string, number>();

  /** At most `maxKeys` keys get a share in a window; further keys are denied. */
  constructor(policy: WhenAway, maxKeys: number) {
    if (typeof policy === 'object' && !(policy.share >= 0 && policy.share <= 1)) {
      throw new RangeError(`a share is from 0 to 1, not ${policy.share}`);
    }
    this.#policy = policy;
    this.#maxKeys = maxKeys;
  }

  /** What this process may admit of a limit. */
  capacity(limit: number): number {
    if (typeof this.#policy === 'object') return Math.floor(limit * this.#policy.share);
    return this.#policy === 'open' ? Number.POSITIVE_INFINITY : 0;
  }

  decide(key: string, cost: number, nowMs: number, { limit, windowMs }: AwayLimit): AwayDecision {
    const lengthMs = windowMs === 0 ? Number.POSITIVE_INFINITY : windowMs;
    if (this.#policy === 'open') return { success: true, remaining: limit, untilMs: lengthMs };
    if (this.#policy === 'closed') return { success: false, remaining: 0, untilMs: lengthMs };
    if (this.#windowStartMs === Number.NEGATIVE_INFINITY || nowMs - this.#windowStartMs >= lengthMs) {
      this.#windowStartMs = nowMs;
      this.#counts = new Map();
    }
    const untilMs = Math.ceil(this.#windowStartMs + lengthMs - nowMs);
    const capacity = this.capacity(limit);
    const before = this.#counts.get(key);
    const counted = before ?? 0;
    const success = counted + cost <= capacity && (before !== undefined || this.#counts.size < this.#maxKeys);
    const after = success ? counted + cost : counted;
    if (success) this.#counts.set(key, after);
    return { success, remaining: Math.max(capacity - after, 0), untilMs };
  }
}
