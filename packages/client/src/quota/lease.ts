/// <reference lib="esnext.disposable" preserve="true" />
import { type BackgroundTimer, startBackgroundTimer } from '../contract/background-timer.js';
import '../contract/dispose-symbol.js';
import { QuotadbError } from '../contract/errors.js';
import type { QuotaRenewed } from '../contract/quota.js';
import type { CallOptions } from '../contract/rate.js';
import type { LimitResult } from '../limiter/limit-result.js';
import { NamedResult } from './named-result.js';

/** The part of a client that renews and releases leases. */
export interface LeaseBackend {
  quotaRenew(lease: string, ttlMs: number, options?: CallOptions): Promise<QuotaRenewed>;
  quotaRelease(lease: string, options?: CallOptions): Promise<boolean>;
}

export interface HeldLease {
  readonly id: string;
  readonly ttlMs: number;
  /** Before the server was asked, on the clock of performance.now: the server counts from later. */
  readonly askedAtMs: number;
  readonly backend: LeaseBackend;
}

/** Renewals in the time that a lease holds: two may be lost on the way. */
const RENEWALS_IN_A_TTL = 3;
/** A renewal that failed is tried again after this part of the time that is left. */
const RETRY_PART = 4;
const SHORTEST_PAUSE_MS = 10;

/**
 * A lease of a quota that limits how many are held at once, or its denial. It is renewed in the background until it is
 * released, with `await using` at the end of its block. A lease that is not renewed in time is lost: `signal` is
 * aborted by this process's own count of the time, and never later than the server gives the lease to another holder.
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
  #timer: BackgroundTimer | undefined;
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

  /** Gives the lease back; false where it had ended. If the server cannot be reached, the lease ends with its time. */
  async release(options?: CallOptions): Promise<boolean> {
    if (!this.success || this.#isReleased) return false;
    this.#isReleased = true;
    clearTimeout(this.#timer);
    this.#onRelease();
    if (this.#held === undefined) return true;
    return this.#held.backend.quotaRelease(this.#held.id, options);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release().catch(() => undefined);
  }

  #schedule(atMs: number): void {
    const pauseMs = Math.max(Math.min(atMs, this.#untilMs) - performance.now(), 0);
    this.#timer = startBackgroundTimer(() => void this.#renew(this.#held!), pauseMs);
  }

  async #renew({ id, ttlMs, backend }: HeldLease): Promise<void> {
    if (this.#isOver()) return this.#lose();
    const askedAtMs = performance.now();
    // The end must be noticed while the reply is on its way, too.
    this.#schedule(this.#untilMs);
    const watching = this.#timer;
    let nextAtMs: number;
    try {
      const { renewed } = await backend.quotaRenew(id, ttlMs, { timeoutMs: Math.max(this.#untilMs - askedAtMs, 1) });
      if (renewed) this.#hold(askedAtMs, ttlMs);
      nextAtMs = renewed ? askedAtMs + ttlMs / RENEWALS_IN_A_TTL : this.#retryAtMs();
    } catch (error) {
      // The server gives the lease to no other holder before its time is over, so there is time to try again.
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
