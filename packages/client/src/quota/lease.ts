import '../dispose-symbol.js';
import type { CallOptions } from '../commands.js';
import { QuotadbError } from '../errors.js';
import type { LimitResult } from '../limiter/limit-result.js';
import type { QuotaRenewed } from '../quota-commands.js';
import { NamedResult } from './named-result.js';

/** Who keeps leases. */
export interface LeaseKeeper {
  quotaRenew(lease: string, ttlMs: number, options?: CallOptions): Promise<QuotaRenewed>;
  quotaRelease(lease: string, options?: CallOptions): Promise<boolean>;
}

export interface HeldLease {
  readonly id: string;
  readonly ttlMs: number;
  /** Before the server was asked, on the clock of performance.now: the server counts from later. */
  readonly askedAtMs: number;
  readonly keeper: LeaseKeeper;
}

/** Renewed so often while it holds: two may be lost on the way. */
const RENEWALS_IN_A_TTL = 3;
/** A renewal that failed is tried again after this part of the time that is left. */
const RETRY_PART = 4;
const SHORTEST_PAUSE_MS = 10;

/**
 * One of so many that may be held at once, or a denial. It is renewed in the background until it is released, with `await using`
 * at the end of its block. Where that cannot be done in time it is lost: `signal` is aborted, by this process's own count of the
 * time, so never later than the server gives it to somebody else.
 */
export class QuotaLease extends NamedResult {
  /** Aborted when the lease is lost; never where it was released in time. */
  readonly signal: AbortSignal;
  readonly #held: HeldLease | undefined;
  readonly #onRelease: () => void;
  readonly #lost = new AbortController();
  #untilMs = Number.POSITIVE_INFINITY;
  /** performance.now stands still while a machine sleeps. */
  #untilWallMs = Number.POSITIVE_INFINITY;
  #isReleased = false;
  #timer: NodeJS.Timeout | undefined;
  #failure: Error | undefined;

  constructor(result: LimitResult, held: HeldLease | undefined, onRelease: () => void = () => undefined) {
    super(result, held?.id);
    this.signal = this.#lost.signal;
    this.#held = held;
    this.#onRelease = onRelease;
    if (held === undefined) return;
    this.#hold(held.askedAtMs, held.ttlMs);
    this.#schedule(held.askedAtMs + held.ttlMs / RENEWALS_IN_A_TTL);
  }

  get isHeld(): boolean {
    return this.success && !this.#isReleased && !this.signal.aborted && !this.#isOver();
  }

  /** Gives it back; false where it had ended. Where the server cannot be told, its time does it. */
  async release(options?: CallOptions): Promise<boolean> {
    if (!this.success || this.#isReleased) return false;
    this.#isReleased = true;
    clearTimeout(this.#timer);
    this.#onRelease();
    if (this.#held === undefined) return true;
    return this.#held.keeper.quotaRelease(this.#held.id, options);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release().catch(() => undefined);
  }

  #schedule(atMs: number): void {
    const pauseMs = Math.max(Math.min(atMs, this.#untilMs) - performance.now(), 0);
    this.#timer = setTimeout(() => void this.#renew(this.#held!), pauseMs);
    this.#timer.unref();
  }

  async #renew({ id, ttlMs, keeper }: HeldLease): Promise<void> {
    if (this.#isOver()) return this.#lose();
    const askedAtMs = performance.now();
    // The end is noticed also while a reply is waited for.
    this.#schedule(this.#untilMs);
    const watching = this.#timer;
    let nextAtMs: number;
    try {
      const { renewed } = await keeper.quotaRenew(id, ttlMs, { timeoutMs: Math.max(this.#untilMs - askedAtMs, 1) });
      if (renewed) this.#hold(askedAtMs, ttlMs);
      nextAtMs = renewed ? askedAtMs + ttlMs / RENEWALS_IN_A_TTL : this.#retryAtMs();
    } catch (error) {
      // Whatever it is, nobody else is given the lease before it would have ended.
      this.#failure = error as Error;
      nextAtMs = this.#retryAtMs();
    }
    clearTimeout(watching);
    if (!this.#isReleased && !this.signal.aborted) this.#schedule(nextAtMs);
  }

  #hold(askedAtMs: number, ttlMs: number): void {
    this.#untilMs = askedAtMs + ttlMs;
    this.#untilWallMs = Date.now() - (performance.now() - askedAtMs) + ttlMs;
  }

  #isOver(): boolean {
    return performance.now() >= this.#untilMs || Date.now() >= this.#untilWallMs;
  }

  #retryAtMs(): number {
    const nowMs = performance.now();
    return nowMs + Math.max((this.#untilMs - nowMs) / RETRY_PART, SHORTEST_PAUSE_MS);
  }

  #lose(): void {
    if (this.#isReleased || this.signal.aborted) return;
    const reason = this.#failure === undefined ? '' : `: ${this.#failure.message}`;
    this.#lost.abort(new QuotadbError(`the lease could not be renewed in time${reason}`, { cause: this.#failure }));
  }
}
