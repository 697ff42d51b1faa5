import fc from 'fast-check';
import { expect, test } from 'vitest';
import { checkPrices, costOf, priceOf } from './prices.js';

const price = { promptPerMillion: 2_500_000, cachedPromptPerMillion: 1_250_000, completionPerMillion: 10_000_000 };

test('a cost is the exact sum over all tokens in micro-units', () => {
  expect(costOf(price, { prompt: 1_000_000, cachedPrompt: 0, completion: 0 })).toBe(2_500_000);
  expect(costOf(price, { prompt: 1_000, cachedPrompt: 400, completion: 500 })).toBe(1_500 + 500 + 5_000);
});

test('cached prompt tokens cost as others do where they have no price of their own', () => {
  const { cachedPromptPerMillion: _, ...without } = price;
  expect(costOf(without, { prompt: 10, cachedPrompt: 10, completion: 0 })).toBe(25);
});

test('a cost is rounded up once, at the end, and so by less than one micro-unit', () => {
  const third = { promptPerMillion: 333_333, completionPerMillion: 333_333 };
  expect(costOf(third, { prompt: 1, cachedPrompt: 0, completion: 0 })).toBe(1);
  expect(costOf(third, { prompt: 1, cachedPrompt: 0, completion: 2 })).toBe(1);
  expect(costOf(third, { prompt: 2, cachedPrompt: 0, completion: 2 })).toBe(2);
});

test('sums are exact beyond the integers of a double', () => {
  const tokens = fc.integer({ min: 0, max: 1_000_000_000 });
  const micros = fc.integer({ min: 0, max: 1_000_000_000 });
  fc.assert(
    fc.property(tokens, tokens, micros, micros, (prompt, completion, promptPerMillion, completionPerMillion) => {
      const exact = BigInt(prompt) * BigInt(promptPerMillion) + BigInt(completion) * BigInt(completionPerMillion);
      const cost = BigInt(costOf({ promptPerMillion, completionPerMillion }, { prompt, cachedPrompt: 0, completion }));
      const excess = cost * 1_000_000n - exact;
      return excess >= 0n && excess < 1_000_000n;
    }),
  );
});

test('a price that is a fraction, or negative, is refused by name', () => {
  expect(() => checkPrices({ small: { ...price, completionPerMillion: 0.5 } })).toThrow(
    'completionPerMillion of small is a whole number of micro-units from 0 to 1000000000000, not 0.5',
  );
  expect(() => checkPrices({ small: { ...price, promptPerMillion: -1 } })).toThrow(RangeError);
});

test('a model has its own price, or that of all others, and never a property of every object', () => {
  expect(priceOf({ small: price }, 'small')).toBe(price);
  expect(priceOf({ small: price }, 'large')).toBeUndefined();
  expect(priceOf({ '*': price }, 'large')).toBe(price);
  expect(priceOf({ small: price }, 'constructor')).toBeUndefined();
});
