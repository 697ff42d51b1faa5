import '../contract/dispose-symbol.js';
import type { QuotaLease } from '../quota/lease.js';
import type { QuotaBackend } from '../quota/quota-options.js';
import type { QuotaReservation } from '../quota/reservation.js';
import { type BudgetCharge, type BudgetDenial, chargeOf, type LlmBudget } from './budget.js';
import type { PriceTable } from './prices.js';
import { settleReservation } from './settle-reservation.js';
import { NO_USAGE, type TokenUsage } from './token-usage.js';

export interface HeldReservation {
  readonly budget: LlmBudget;
  readonly subject: string;
  readonly estimate: number;
  readonly reservation: QuotaReservation;
}

export interface GrantParts {
  readonly backend: QuotaBackend;
  readonly model: string;
  readonly prices: PriceTable;
  readonly lapse: 'refund' | 'charge';
  /** How long to try to reach the server for a settlement. */
  readonly settleMs: number;
  readonly reservations: readonly HeldReservation[];
  readonly leases: readonly QuotaLease[];
  readonly onSettled?: ((charges: readonly BudgetCharge[]) => void) | undefined;
}

/**
 * One request's hold on all of its budgets, or its denial. It is settled once, with the tokens that were used: the
 * first of `settle` and `cancel` decides, and every later call gets the same answer. With `await using` it is cancelled
 * at the end of its block unless it was settled before. A process that dies leaves it to the server, where the
 * reservations and the lease end with their times.
 */
export class BudgetGrant {
  readonly success: boolean;
  /** Undefined where it was granted. */
  readonly denial: BudgetDenial | undefined;
  /** Aborted when the lease on a place among the requests at once is lost: the request must stop. */
  readonly signal: AbortSignal;
  readonly #parts: GrantParts;
  #settling: Promise<readonly BudgetCharge[]> | undefined;

  constructor(parts: GrantParts, denial?: BudgetDenial) {
    this.#parts = parts;
    this.denial = denial;
    this.success = denial === undefined;
    this.signal = AbortSignal.any(parts.leases.map((lease) => lease.signal));
  }

  get isSettled(): boolean {
    return this.#settling !== undefined;
  }

  /** Charges every budget for the tokens that were used and gives the rest back. Never rejects for want of a server. */
  settle(usage: TokenUsage): Promise<readonly BudgetCharge[]> {
    this.#settling ??= this.#settleAll(usage, true);
    return this.#settling;
  }

  /** Gives everything back, for a request that used nothing. */
  cancel(): Promise<readonly BudgetCharge[]> {
    this.#settling ??= this.#settleAll(NO_USAGE, false);
    return this.#settling;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.cancel();
  }

  async #settleAll(usage: TokenUsage, isUsed: boolean): Promise<readonly BudgetCharge[]> {
    const { reservations, leases, onSettled } = this.#parts;
    // A lease that cannot be released ends with its time.
    const released = leases.map((lease) => lease.release().catch(() => false));
    const charges = await Promise.all(reservations.map((held) => this.#settleOne(held, usage, isUsed)));
    await Promise.all(released);
    onSettled?.(charges);
    return charges;
  }

  async #settleOne(held: HeldReservation, usage: TokenUsage, isUsed: boolean): Promise<BudgetCharge> {
    const { backend, model, prices, lapse, settleMs } = this.#parts;
    const { budget, subject, estimate, reservation } = held;
    const actual = chargeOf(budget, model, prices, usage, isUsed);
    const { id } = reservation;
    const about = { budget, subject, estimate, actual };
    // Admitted while the server was away, as `whenAway` says: there is nothing to settle.
    if (id === undefined) return { ...about, charged: 0, uncharged: actual, isSettled: true };
    const unsettled = { backend, quota: budget.quota, subject, reservation: id, lapse, estimate };
    const settlement = await settleReservation(unsettled, actual, performance.now() + settleMs);
    if (settlement === undefined) return { ...about, charged: 0, uncharged: actual, isSettled: false };
    return { ...about, ...settlement, isSettled: true };
  }
}
