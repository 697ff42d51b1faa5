import { expect, test } from 'vitest';
import { alone, BYTES, COUNTS, labelsFor, MICROSECONDS, MILLISECONDS, scaleFor, WHOLE } from './scale.js';

const UNITS = { BYTES, COUNTS, MICROSECONDS, MILLISECONDS };

test.each(Object.entries(UNITS))('an axis of %s cuts nothing off and has no label twice', (_, unit) => {
  for (let power = -2; power < 13; power += 0.1) {
    const highest = 10 ** power;
    const { low, high, ticks } = scaleFor(unit, 0, highest, true);
    expect(low).toBe(0);
    expect(high, String(highest)).toBeGreaterThanOrEqual(highest * (1 - 1e-9));
    expect(ticks.length).toBeGreaterThan(1);
    expect(ticks.length).toBeLessThan(8);
    const labels = labelsFor(unit, ticks);
    expect(new Set(labels).size, labels.join(' ')).toBe(labels.length);
  }
});

test('values that hardly change have an axis of their own, with labels that differ', () => {
  const { low, high, ticks } = scaleFor(WHOLE, 12_345_678, 12_345_690, false);
  expect(low).toBeLessThanOrEqual(12_345_678);
  expect(high).toBeGreaterThanOrEqual(12_345_690);
  expect(new Set(labelsFor(WHOLE, ticks)).size).toBe(ticks.length);
  expect(labelsFor(WHOLE, scaleFor(WHOLE, 5, 5, false).ticks)).toEqual(['5', '6']);
});

test('ticks are round in the unit of the axis', () => {
  expect(labelsFor(BYTES, scaleFor(BYTES, 0, 70 * 1024 ** 2, true).ticks)).toEqual(['0', '32M', '64M', '96M']);
  expect(labelsFor(COUNTS, scaleFor(COUNTS, 0, 900, true).ticks)).toEqual(['0', '500', '1,000']);
  expect(labelsFor(MILLISECONDS, scaleFor(MILLISECONDS, 0, 95_000, true).ticks)).toEqual([
    '0',
    '30s',
    '1m',
    '1m30s',
    '2m',
  ]);
  expect(labelsFor(MICROSECONDS, scaleFor(MICROSECONDS, 0, 0, true).ticks)).toEqual(['0', '5 µs', '10 µs']);
});

test('a value without one beside it is found, so that it is drawn as a point', () => {
  expect(alone([1, null, 2, 3, null, 4])).toEqual([0, 5]);
  expect(alone([7])).toEqual([0]);
  expect(alone([null, undefined])).toEqual([]);
});
