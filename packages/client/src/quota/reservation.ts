import '../dispose-symbol.js';
import type { CallOptions } from '../commands.js';
import { QuotadbError } from '../errors.js';
import type { LimitResult } from '../limiter/limit-result.js';
import type { QuotaSettlement } from '../quota-commands.js';
import { NamedResult } from './named-result.js';

/** Who keeps reservations. */
export interface ReservationKeeper {
  quotaCommit(reservation: string, actual: number, options?: CallOptions): Promise<QuotaSettlement>;
  quotaCancel(reservation: string, options?: CallOptions): Promise<boolean>;
}

/**
 * An estimate that was taken, or denied, and is settled once. With `await using` it is cancelled at the end of its block unless it
 * was committed before.
 */
export class QuotaReservation extends NamedResult {
  readonly #keeper: ReservationKeeper;
  #isSettled = false;

  constructor(result: LimitResult, id: string | undefined, keeper: ReservationKeeper) {
    super(result, id);
    this.#keeper = keeper;
  }

  /**
   * What it cost in truth: what was too much comes back, what was missing is charged as far as the limit has it. May be tried
   * again when it failed: the server settles a reservation once.
   */
  async commit(actual: number, options?: CallOptions): Promise<QuotaSettlement> {
    if (!this.success) throw new QuotadbError('a reservation that was denied cannot be committed');
    if (this.id === undefined) return { charged: 0, uncharged: actual };
    const settlement = await this.#keeper.quotaCommit(this.id, actual, options);
    this.#isSettled = true;
    return settlement;
  }

  /** All of it comes back. False where it had been settled, or had lapsed. */
  async cancel(options?: CallOptions): Promise<boolean> {
    if (this.id === undefined || this.#isSettled) return false;
    const wasHeld = await this.#keeper.quotaCancel(this.id, options);
    this.#isSettled = true;
    return wasHeld;
  }

  /** Where the server cannot be told, the time of the reservation does it. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.cancel().catch(() => undefined);
  }
}
