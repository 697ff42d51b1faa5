import type { LimitResult } from '../limiter/limit-result.js';
import { costOf, type PriceTable, priceOf } from './prices.js';
import { type TokenUsage, totalOf } from './token-usage.js';

/**
 * What a budget counts: prompt and completion tokens; money, in micro-units by the table of prices; requests; or
 * requests at once, which needs a quota that was defined with a lease in place of a window.
 */
export type BudgetKind = 'tokens' | 'money' | 'requests' | 'requestsAtOnce';

/** One limit that a request to a model must fit into. */
export interface LlmBudget {
  /** The name of the quota. */
  readonly quota: string;
  readonly counts: BudgetKind;
  /** Who pays for a caller, such as its organisation; the caller if left out. */
  readonly subject?: (caller: string) => string;
}

/** A request to a model, before it is sent. */
export interface PlannedRequest {
  readonly model: string;
  /** The most it is expected to use. */
  readonly estimate: TokenUsage;
}

export interface BudgetDenial {
  /** The budget that denied it. */
  readonly budget: LlmBudget;
  readonly result: LimitResult;
}

export interface BudgetCharge {
  readonly budget: LlmBudget;
  readonly subject: string;
  readonly estimate: number;
  readonly actual: number;
  readonly charged: number;
  /** Used above the estimate and not charged, because the budget was used up. */
  readonly uncharged: number;
  /** False where the server could not be reached in time: the reservation lapses there. */
  readonly isSettled: boolean;
}

/** What a budget is charged for a use of this many tokens. */
export function chargeOf(
  { counts }: LlmBudget,
  model: string,
  prices: PriceTable,
  usage: TokenUsage,
  isUsed = true,
): number {
  if (!isUsed) return 0;
  if (counts === 'tokens') return totalOf(usage);
  if (counts !== 'money') return 1;
  const price = priceOf(prices, model);
  if (price === undefined) throw new RangeError(`the model ${JSON.stringify(model)} has no price`);
  return costOf(price, usage);
}
