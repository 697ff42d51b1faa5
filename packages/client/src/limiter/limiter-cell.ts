import type { RateDecision } from '../commands.js';

/**
 * What a process knows about one key: what the server last said remains, and what was admitted here since then. Times are
 * those of performance.now, which no clock change moves, but for `resetAtMs`, which is told to others.
 */
export class LimiterCell {
  readonly key: string;
  /** Admitted here and not told yet. */
  pending = 0;
  viewedAtMs = Number.NEGATIVE_INFINITY;
  resetAtMs = 0;
  /** Told, and not answered yet. */
  #sending = 0;
  #pendingSinceMs = 0;
  #remaining = 0;
  /** How much of what remained this process may admit by itself. */
  #budget = 0;
  /** Until when requests of this cost and above are denied. */
  #deniedUntilMs = Number.NEGATIVE_INFINITY;
  #deniedCost = 0;

  constructor(key: string) {
    this.key = key;
  }

  /** What remains by what is known here. */
  get left(): number {
    return Math.max(this.#remaining - this.pending - this.#sending, 0);
  }

  isDenied(nowMs: number, cost: number): boolean {
    return nowMs < this.#deniedUntilMs && cost >= this.#deniedCost;
  }

  retryAfterMs(nowMs: number): number {
    if (this.#deniedUntilMs === Number.POSITIVE_INFINITY) return -1;
    return Math.max(Math.ceil(this.#deniedUntilMs - nowMs), 0);
  }

  /** Admits the cost if it is within what this process may admit by itself. */
  take(cost: number, nowMs: number): boolean {
    if (this.pending + this.#sending + cost > this.#budget) return false;
    this.add(cost, nowMs);
    return true;
  }

  add(cost: number, nowMs: number): void {
    if (this.pending === 0) this.#pendingSinceMs = nowMs;
    this.pending += cost;
  }

  /** What is to be told now. What was admitted longer than a window ago is over, and must not be charged to the current one. */
  beginTelling(nowMs: number, windowMs: number): number {
    const amount = nowMs - this.#pendingSinceMs > windowMs ? 0 : this.pending;
    this.pending = 0;
    this.#sending += amount;
    return amount;
  }

  endTelling(amount: number, isToBeToldAgain = false): void {
    this.#sending -= amount;
    if (isToBeToldAgain) this.pending += amount;
  }

  /** What the server said, as of when it was asked. `deniedCost` is that of a request it denied, 0 where it denied none. */
  view(decision: RateDecision, askedAtMs: number, share: number, deniedCost: number): void {
    if (askedAtMs < this.viewedAtMs) return;
    this.viewedAtMs = askedAtMs;
    this.#remaining = decision.remaining;
    this.#budget = Math.floor(decision.remaining * share);
    this.resetAtMs = Date.now() + decision.resetAfterMs;
    if (deniedCost === 0) return;
    this.#deniedCost = deniedCost;
    this.#deniedUntilMs = decision.retryAfterMs < 0 ? Number.POSITIVE_INFINITY : askedAtMs + decision.retryAfterMs;
  }
}
