import { QuotadbError } from '../contract/errors.js';
import type { TokenUsage } from './token-usage.js';

/**
 * What a million tokens of a model cost, in whole micro-units of a currency: 2.50 of it are 2,500,000. Money is never a
 * fraction here, so sums of it are exact.
 */
export interface ModelPrice {
  readonly promptPerMillion: number;
  /** Of prompt tokens that came from a cache; as other prompt tokens if left out. */
  readonly cachedPromptPerMillion?: number;
  readonly completionPerMillion: number;
}

/** By the name of the model in the request; `*` is the price of all others. */
export type PriceTable = Readonly<Record<string, ModelPrice>>;

/** A million of a currency for a million tokens. */
const HIGHEST_PRICE = 1_000_000_000_000;
const MILLION = 1_000_000n;

/** Throws a RangeError that names the first price which is none. */
export function checkPrices(prices: PriceTable): void {
  for (const [model, price] of Object.entries(prices))
    for (const [name, value] of Object.entries(price))
      if (value !== undefined && !(Number.isSafeInteger(value) && value >= 0 && value <= HIGHEST_PRICE))
        throw new RangeError(
          `${name} of ${model} is a whole number of micro-units from 0 to ${HIGHEST_PRICE}, not ${value}`,
        );
}

export function priceOf(prices: PriceTable, model: string): ModelPrice | undefined {
  if (Object.hasOwn(prices, model)) return prices[model];
  return Object.hasOwn(prices, '*') ? prices['*'] : undefined;
}

/**
 * The cost of a request in micro-units: the exact sum over its tokens, rounded up once, at the end. So a request costs
 * less than one micro-unit too much, and never too little.
 */
export function costOf(price: ModelPrice, { prompt, cachedPrompt, completion }: TokenUsage): number {
  const { promptPerMillion, cachedPromptPerMillion = promptPerMillion, completionPerMillion } = price;
  const sum =
    BigInt(prompt - cachedPrompt) * BigInt(promptPerMillion) +
    BigInt(cachedPrompt) * BigInt(cachedPromptPerMillion) +
    BigInt(completion) * BigInt(completionPerMillion);
  const cost = Number((sum + MILLION - 1n) / MILLION);
  if (!Number.isSafeInteger(cost)) throw new QuotadbError(`a request cannot cost ${cost} micro-units`);
  return cost;
}
