import { expect, test } from 'vitest';
import { milliseconds } from './duration.js';

const schema = milliseconds(1, 60_000);

test.each([
  [60_000, 60_000],
  ['60000', 60_000],
  ['60s', 60_000],
  ['1m', 60_000],
  ['250ms', 250],
])('%j is %d milliseconds', (given, expected) => {
  expect(schema.parse(given)).toBe(expected);
});

test.each([0, 60_001, 1.5, '61s', '-1s', 'soon', '', '1.5s', true, null, {}])('%j is refused', (given) => {
  expect(schema.safeParse(given).success).toBe(false);
});
