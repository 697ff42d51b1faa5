import { joinInt64, splitInt64 } from '@quotadb/engine';
import { expect, test } from 'vitest';
import { BoundedIncrement, Decision } from './bounded-increment.js';

const LOWEST = -(2n ** 63n);
const HIGHEST = 2n ** 63n - 1n;

interface Settings {
  by?: bigint;
  lower?: bigint;
  upper?: bigint;
  saturates?: boolean;
}

/** The amount added to the value; the name of the decision where nothing is added. */
function decide(value: bigint, { by = 1n, lower = LOWEST, upper = HIGHEST, saturates = false }: Settings) {
  const increment = new BoundedIncrement();
  [increment.amountHigh, increment.amountLow] = splitInt64(by);
  [increment.lowerHigh, increment.lowerLow] = splitInt64(lower);
  [increment.upperHigh, increment.upperLow] = splitInt64(upper);
  increment.saturates = saturates;
  const decision = increment.decide(...splitInt64(value));
  if (decision !== Decision.Overflow) {
    const applied = joinInt64(increment.appliedHigh, increment.appliedLow);
    expect(joinInt64(increment.valueHigh, increment.valueLow)).toBe(value + applied);
    if (decision === Decision.Apply) return applied;
  }
  return decision === Decision.Decline ? 'decline' : 'overflow';
}

test('a result on a bound is inside', () => {
  expect(decide(5n, { by: 5n, upper: 10n })).toBe(5n);
  expect(decide(5n, { by: -5n, lower: 0n })).toBe(-5n);
});

test('a result out of bounds is declined', () => {
  expect(decide(7n, { by: 10n, lower: 0n, upper: 10n })).toBe('decline');
  expect(decide(7n, { by: -20n, lower: 0n, upper: 10n })).toBe('decline');
  expect(decide(5n, { by: 1n, lower: 10n })).toBe('decline');
});

test('saturating ends at the bound that was passed', () => {
  expect(decide(7n, { by: 10n, lower: 0n, upper: 10n, saturates: true })).toBe(3n);
  expect(decide(10n, { by: -20n, lower: 0n, upper: 10n, saturates: true })).toBe(-10n);
});

test('a value beyond a bound comes back to it, against the increment if need be', () => {
  expect(decide(10n, { by: 5n, upper: 5n, saturates: true })).toBe(-5n);
  expect(decide(10n, { by: 0n, upper: 5n, saturates: true })).toBe(-5n);
  expect(decide(10n, { by: -5n, upper: 5n })).toBe(-5n);
  expect(decide(-10n, { by: -5n, lower: 20n, saturates: true })).toBe(30n);
});

test('leaving 64 bits is leaving the bounds', () => {
  expect(decide(HIGHEST, {})).toBe('decline');
  expect(decide(LOWEST, { by: -1n })).toBe('decline');
  expect(decide(HIGHEST - 7n, { by: 10n, saturates: true })).toBe(7n);
  expect(decide(LOWEST + 7n, { by: -10n, saturates: true })).toBe(-7n);
  expect(decide(10n, { by: HIGHEST, upper: 100n, saturates: true })).toBe(90n);
  expect(decide(-10n, { by: LOWEST, lower: -100n, saturates: true })).toBe(-90n);
});

test('a way to the bound that does not fit into 64 bits is refused', () => {
  expect(decide(HIGHEST, { by: -5n, upper: LOWEST, saturates: true })).toBe('overflow');
  expect(decide(LOWEST, { by: 1n, lower: HIGHEST, saturates: true })).toBe('overflow');
});

test('crossed bounds are seen', () => {
  const increment = new BoundedIncrement();
  expect(increment.boundsAreCrossed()).toBe(false);
  [increment.lowerHigh, increment.lowerLow] = splitInt64(10n);
  [increment.upperHigh, increment.upperLow] = splitInt64(10n);
  expect(increment.boundsAreCrossed()).toBe(false);
  [increment.upperHigh, increment.upperLow] = splitInt64(9n);
  expect(increment.boundsAreCrossed()).toBe(true);
});
