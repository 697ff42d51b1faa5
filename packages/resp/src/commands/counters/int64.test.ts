import { joinInt64, splitInt64 } from '@quotadb/engine';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { addInt64, compareInt64, result, subtractInt64 } from './int64.js';

const LOWEST = -(2n ** 63n);
const HIGHEST = 2n ** 63n - 1n;
const edges = [LOWEST, LOWEST + 1n, -(2n ** 32n), -1n, 0n, 1n, 2n ** 32n - 1n, 2n ** 32n, HIGHEST - 1n, HIGHEST];
const int64 = fc.oneof(fc.constantFrom(...edges), fc.bigInt({ min: LOWEST, max: HIGHEST }));

function fits(value: bigint): boolean {
  return value >= LOWEST && value <= HIGHEST;
}

test('sums and differences are exact, or reported as not fitting', () => {
  fc.assert(
    fc.property(int64, int64, (one, other) => {
      const halves = [...splitInt64(one), ...splitInt64(other)] as const;
      expect(addInt64(...halves)).toBe(fits(one + other));
      if (fits(one + other)) expect(joinInt64(result.high, result.low)).toBe(one + other);
      expect(subtractInt64(...halves)).toBe(fits(one - other));
      if (fits(one - other)) expect(joinInt64(result.high, result.low)).toBe(one - other);
    }),
    { numRuns: 2000 },
  );
});

test('comparison orders as the numbers do', () => {
  fc.assert(
    fc.property(int64, int64, (one, other) => {
      const expected = one < other ? -1 : one > other ? 1 : 0;
      expect(Math.sign(compareInt64(...splitInt64(one), ...splitInt64(other)))).toBe(expected);
    }),
    { numRuns: 2000 },
  );
});
