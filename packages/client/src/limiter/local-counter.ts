import type { RateDecision } from '../contract/rate.js';

/**
 * What this process knows about one key: the remaining amount of the server's last answer, and what the process
 * admitted since. Times are those of performance.now, which no clock change moves, except `resetAtMs`, which callers
 * get to see.
 */
export class LocalCounter {
  readonly key: string;
  /** Admitted here and not reported to the server. */
  unreported = 0;
  viewedAtMs = Number.NEGATIVE_INFINITY;
  resetAtMs = 0;
  /** Reported, and not answered yet. */
  #reporting = 0;
  #unreportedSinceMs = 0;
  #remaining = 0;
  /** The part of the remaining amount that this process may admit without asking. */
  #budget = 0;
  /** Until when requests of this cost and above are denied. */
  #deniedUntilMs = Number.NEGATIVE_INFINITY;
  #deniedCost = 0;

  constructor(key: string) {
    this.key = key;
  }

  /** The remaining amount, as far as this process knows. */
  get remaining(): number {
    return Math.max(this.#remaining - this.unreported - this.#reporting, 0);
  }

  isDenied(nowMs: number, cost: number): boolean {
    return nowMs < this.#deniedUntilMs && cost >= this.#deniedCost;
  }

  retryAfterMs(nowMs: number): number {
    if (this.#deniedUntilMs === Number.POSITIVE_INFINITY) return -1;
    return Math.max(Math.ceil(this.#deniedUntilMs - nowMs), 0);
  }

  /** Admits the cost if it is within the budget of this process. */
  take(cost: number, nowMs: number): boolean {
    if (this.unreported + this.#reporting + cost > this.#budget) return false;
    this.add(cost, nowMs);
    return true;
  }

  add(cost: number, nowMs: number): void {
    if (this.unreported === 0) this.#unreportedSinceMs = nowMs;
    this.unreported += cost;
  }

  /**
   * The amount to report now. An amount that was admitted longer than a window ago is dropped: it must not be charged
   * to the current window.
   */
  beginReport(nowMs: number, windowMs: number): number {
    const amount = nowMs - this.#unreportedSinceMs > windowMs ? 0 : this.unreported;
    this.unreported = 0;
    this.#reporting += amount;
    return amount;
  }

  endReport(amount: number, isToBeRepeated = false): void {
    this.#reporting -= amount;
    if (isToBeRepeated) this.unreported += amount;
  }

  /** Takes in the server's answer, as of when it was asked. `deniedCost` is 0 where the server denied nothing. */
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
