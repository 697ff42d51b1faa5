import { QuotadbError } from '../contract/errors.js';
import type { WhenAway } from '../limiter/away-policy.js';
import { decidedResult } from '../limiter/limit-result.js';
import type { QuotaLease } from '../quota/lease.js';
import { Quota } from '../quota/quota.js';
import type { QuotaBackend } from '../quota/quota-options.js';
import { type BudgetCharge, type BudgetDenial, chargeOf, type LlmBudget, type PlannedRequest } from './budget.js';
import { BudgetGrant, type GrantParts, type HeldReservation } from './grant.js';
import { checkPrices, type PriceTable, priceOf } from './prices.js';
import { undoReservation } from './undo-reservation.js';

export interface LlmBudgetsOptions {
  readonly client: QuotaBackend;
  /** A request must fit into all of them. They are asked in this order: put the one that denies most often first. */
  readonly budgets: readonly LlmBudget[];
  /** Needed where a budget counts money. */
  readonly prices?: PriceTable;
  /** While the server is away: admit all requests, none, or a share of the limit. */
  readonly whenAway: WhenAway;
  /** How long to wait for the server, beyond the wait for tokens of other regions; 2,000 ms if left out. */
  readonly timeoutMs?: number;
  /** The longest that a request may take: a reservation that is not settled by then lapses. 600,000 ms if left out. */
  readonly reservationMs?: number;
  /** A request whose process died used nothing (`refund`, the default) or all of its estimate (`charge`). */
  readonly lapse?: 'refund' | 'charge';
  /** How long a settlement is tried again while the server is out of reach; 60,000 ms if left out. */
  readonly settleMs?: number;
  /** Called once for every request that was granted, when it is settled. Must not throw. */
  readonly onSettled?: (charges: readonly BudgetCharge[]) => void;
}

const DEFAULT_RESERVATION_MS = 600_000;
const DEFAULT_SETTLE_MS = 60_000;
/** A call to a model takes seconds: to wait for its budgets is better than to refuse it. */
const DEFAULT_TIMEOUT_MS = 2_000;
/** As many limits as one request needs, and more. */
const MAXIMUM_BUDGETS = 16;
/** The server's words for a cost that its limit could never allow. */
const BEYOND_LIMIT = /beyond the limit/;

/** Tokens, money, requests, and requests at once: a request to a model is granted by all budgets or by none. */
export class LlmBudgets {
  readonly reservationMs: number;
  readonly #options: LlmBudgetsOptions;
  readonly #prices: PriceTable;
  readonly #quotas: ReadonlyMap<LlmBudget, Quota>;

  constructor(options: LlmBudgetsOptions) {
    const { client, budgets, prices = {}, whenAway, timeoutMs = DEFAULT_TIMEOUT_MS } = options;
    if (budgets.length === 0 || budgets.length > MAXIMUM_BUDGETS)
      throw new RangeError(`there are 1 to ${MAXIMUM_BUDGETS} budgets, not ${budgets.length}`);
    checkPrices(prices);
    if (budgets.some(({ counts }) => counts === 'money') && Object.keys(prices).length === 0)
      throw new RangeError('a budget that counts money needs prices');
    this.#options = options;
    this.#prices = prices;
    this.reservationMs = options.reservationMs ?? DEFAULT_RESERVATION_MS;
    // Estimates differ from request to request, so no tokens are taken ahead.
    this.#quotas = new Map(
      budgets.map((budget) => [
        budget,
        new Quota({ client, name: budget.quota, whenAway, timeoutMs, processShare: 0 }),
      ]),
    );
  }

  /** Whether all budgets can say what a request to this model costs. */
  hasPriceOf(model: string): boolean {
    return (
      this.#options.budgets.every(({ counts }) => counts !== 'money') || priceOf(this.#prices, model) !== undefined
    );
  }

  /** Holds the estimate in every budget, or in none. Rejects where the request itself is wrong. */
  async open(caller: string, request: PlannedRequest): Promise<BudgetGrant> {
    const reservations: HeldReservation[] = [];
    const leases: QuotaLease[] = [];
    const parts = this.#parts(request.model, reservations, leases);
    try {
      for (const [budget, quota] of this.#quotas) {
        const denial = await this.#hold(budget, quota, caller, request, reservations, leases);
        if (denial === undefined) continue;
        await new BudgetGrant({ ...parts, onSettled: undefined }).cancel();
        return new BudgetGrant({ ...parts, reservations: [], leases: [] }, denial);
      }
    } catch (error) {
      await new BudgetGrant({ ...parts, onSettled: undefined }).cancel();
      throw error;
    }
    return new BudgetGrant(parts);
  }

  #parts(model: string, reservations: readonly HeldReservation[], leases: readonly QuotaLease[]): GrantParts {
    const { client, lapse = 'refund', settleMs = DEFAULT_SETTLE_MS, onSettled } = this.#options;
    return { backend: client, model, prices: this.#prices, lapse, settleMs, reservations, leases, onSettled };
  }

  /** Adds to the reservations or the leases, or says why the budget denies it. */
  async #hold(
    budget: LlmBudget,
    quota: Quota,
    caller: string,
    { model, estimate: planned }: PlannedRequest,
    reservations: HeldReservation[],
    leases: QuotaLease[],
  ): Promise<BudgetDenial | undefined> {
    const subject = budget.subject?.(caller) ?? caller;
    if (budget.counts === 'requestsAtOnce') {
      const lease = await quota.acquire(subject);
      if (!lease.success) return { budget, result: lease };
      leases.push(lease);
      return undefined;
    }
    const estimate = chargeOf(budget, model, this.#prices, planned);
    // A model that is free.
    if (estimate === 0) return undefined;
    const { client: backend, lapse = 'refund', settleMs = DEFAULT_SETTLE_MS } = this.#options;
    const id = crypto.randomUUID();
    const ttlMs = this.reservationMs;
    try {
      const reservation = await quota.reserve(subject, estimate, { ttlMs, lapse, id });
      if (reservation.reason === 'away') {
        const doubtful = { backend, quota: quota.name, subject, estimate, ttlMs, lapse, id };
        void undoReservation(doubtful, performance.now() + settleMs);
      }
      if (!reservation.success) return { budget, result: reservation };
      reservations.push({ budget, subject, estimate, reservation });
      return undefined;
    } catch (error) {
      if (!(error instanceof QuotadbError) || !BEYOND_LIMIT.test(error.message)) throw error;
      return { budget, result: decidedResult(false, quota.limit, 0, Number.POSITIVE_INFINITY, -1) };
    }
  }
}
