import { defaultConfiguration } from '@quotadb/config';
import { expect, test } from 'vitest';
import { OutputWatch } from './output-watch.js';

function watchWith(hardBytes: number, softBytes: number, softSeconds: number): OutputWatch {
  return new OutputWatch({ ...defaultConfiguration(), outputLimit: { hardBytes, softBytes, softSeconds } });
}

test('past the hard limit a client is closed at once', () => {
  const watch = watchWith(1000, 0, 0);
  expect(watch.exceeded(1000, 0)).toBe(false);
  expect(watch.exceeded(1001, 0)).toBe(true);
});

test('past the soft limit it is closed when it stays there, and forgiven when it does not', () => {
  const watch = watchWith(0, 1000, 10);
  expect(watch.exceeded(1000, 0)).toBe(false);
  expect(watch.exceeded(5000, 9_999)).toBe(false);
  expect(watch.exceeded(999, 9_999)).toBe(false);
  expect(watch.exceeded(1000, 12_000)).toBe(false);
  expect(watch.exceeded(1000, 21_999)).toBe(false);
  expect(watch.exceeded(1000, 22_000)).toBe(true);
});

test('without limits no connection is closed, but reading still stops', () => {
  const watch = watchWith(0, 0, 0);
  expect(watch.exceeded(Number.MAX_SAFE_INTEGER, 1e12)).toBe(false);
  expect(watch.isFull(OutputWatch.FULL_BYTES)).toBe(true);
  expect(watch.isFull(0)).toBe(false);
});

test('reading stops at the soft limit, but never below the size at which the socket reports a drain', () => {
  expect(watchWith(0, 200_000, 10).isFull(199_999)).toBe(false);
  expect(watchWith(0, 200_000, 10).isFull(200_000)).toBe(true);
  expect(watchWith(0, 1, 10).isFull(OutputWatch.LEAST_FULL_BYTES - 1)).toBe(false);
});
