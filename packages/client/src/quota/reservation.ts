/// <reference lib="esnext.disposable" preserve="true" />
import '../contract/dispose-symbol.js';
import { QuotadbError } from '../contract/errors.js';
import type { QuotaSettlement } from '../contract/quota.js';
import type { CallOptions } from '../contract/rate.js';
import type { LimitResult } from '../limiter/limit-result.js';
import { NamedResult } from './named-result.js';

/** The part of a client that settles reservations. */
export interface ReservationBackend {
  quotaCommit(reservation: string, actual: number, options?: CallOptions): Promise<QuotaSettlement>;
  quotaCancel(reservation: string, options?: CallOptions): Promise<boolean>;
}

/**
 * An estimate that was taken, or denied, and is settled once. With `await using` it is cancelled at the end of its
 * block unless it was committed before.
 */
export class QuotaReservation extends NamedResult {
  readonly #backend: ReservationBackend;
  #isSettled = false;

  constructor(result: LimitResult, id: string | undefined, backend: ReservationBackend) {
    super(result, id);
    this.#backend = backend;
  }

  /**
   * Charges the actual cost: the surplus of the estimate comes back, a shortfall is charged as far as the limit allows.
   * May be tried again after an error: the server settles a reservation once.
   */
  async commit(actual: number, options?: CallOptions): Promise<QuotaSettlement> {
    if (!this.success) throw new QuotadbError('a reservation that was denied cannot be committed');
    if (this.id === undefined) return { charged: 0, uncharged: actual };
    const settlement = await this.#backend.quotaCommit(this.id, actual, options);
    this.#isSettled = true;
    return settlement;
  }

  /** Gives all of it back; false where it had been settled, or had lapsed. */
  async cancel(options?: CallOptions): Promise<boolean> {
    if (this.id === undefined || this.#isSettled) return false;
    const wasHeld = await this.#backend.quotaCancel(this.id, options);
    this.#isSettled = true;
    return wasHeld;
  }

  /** If the server cannot be reached, the reservation lapses. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.cancel().catch(() => undefined);
  }
}
