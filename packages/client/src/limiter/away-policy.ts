/**
 * What a limiter does while its server is away. None of the three is right for everybody, so one must be chosen:
 *
 *   'open'           everything passes: being reachable matters more than the limit
 *   'closed'         nothing passes: the limit protects something that would break
 *   { share: 0.25 }  this process admits that part of the limit, in fixed windows of its own; with a share of 1/n, n processes
 *                    stay within the limit together
 */
export type WhenAway = 'open' | 'closed' | { readonly share: number };

export interface AwayDecision {
  readonly success: boolean;
  readonly remaining: number;
  /** Until what is counted here is forgotten. */
  readonly untilMs: number;
}

export class AwayPolicy {
  readonly #policy: WhenAway;
  readonly #windowMs: number;
  readonly #capacity: number;
  readonly #limit: number;
  #windowStartMs = Number.NEGATIVE_INFINITY;
  /** All keys share the window, so that it is forgotten whole. */
  #counts = new Map<string, number>();

  constructor(policy: WhenAway, limit: number, windowMs: number) {
    if (typeof policy === 'object' && !(policy.share >= 0 && policy.share <= 1)) {
      throw new RangeError(`a share is from 0 to 1, not ${policy.share}`);
    }
    this.#policy = policy;
    this.#limit = limit;
    this.#windowMs = windowMs;
    this.#capacity = typeof policy === 'object' ? Math.floor(limit * policy.share) : 0;
  }

  decide(key: string, cost: number, nowMs: number): AwayDecision {
    if (this.#policy === 'open') return { success: true, remaining: this.#limit, untilMs: this.#windowMs };
    if (this.#policy === 'closed') return { success: false, remaining: 0, untilMs: this.#windowMs };
    if (nowMs - this.#windowStartMs >= this.#windowMs) {
      this.#windowStartMs = nowMs;
      this.#counts = new Map();
    }
    const untilMs = Math.ceil(this.#windowStartMs + this.#windowMs - nowMs);
    const counted = this.#counts.get(key) ?? 0;
    const success = counted + cost <= this.#capacity;
    const after = success ? counted + cost : counted;
    if (success) this.#counts.set(key, after);
    return { success, remaining: Math.max(this.#capacity - after, 0), untilMs };
  }
}
