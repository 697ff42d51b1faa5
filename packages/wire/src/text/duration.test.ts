import fc from 'fast-check';
import { expect, test } from 'vitest';
import { formatDuration, parseDuration, readDuration } from './duration.js';

test.each([
  ['250ms', 250],
  ['60s', 60_000],
  ['5m', 300_000],
  ['1h30m', 5_400_000],
  ['1D', 86_400_000],
  ['2w', 1_209_600_000],
  ['0s', 0],
])('%s is a duration', (text, milliseconds) => {
  expect(parseDuration(text)).toBe(milliseconds);
});

test.each([
  '',
  '60',
  '1.5s',
  '-1s',
  '30m1h',
  '1s1s',
  '1 s',
  '5min',
  '9007199254740993ms',
  '1h ',
  's',
  '1h30',
  '٣s',
  '1\u0013',
])('%j is none', (text) => {
  expect(parseDuration(text)).toBeUndefined();
});

test('what is printed is read as it was', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2 ** 48 }), (milliseconds) => {
      expect(parseDuration(formatDuration(milliseconds))).toBe(milliseconds);
    }),
  );
});

test('a duration is read where it lies, and no byte beyond it', () => {
  const bytes = new TextEncoder().encode('1h60m5s');
  expect(readDuration(bytes, 2, 2)).toBe(Number.NaN);
  expect(readDuration(bytes, 2, 3)).toBe(3_600_000);
  expect(readDuration(bytes, 2, 5)).toBe(3_605_000);
});
