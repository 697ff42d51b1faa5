import { expect, test } from 'vitest';
import { type KeyDistribution, keySequence } from './key-sequence.js';

function take(distribution: KeyDistribution, keyCount: number, seed: number, length: number): number[] {
  const next = keySequence(distribution, keyCount, seed);
  return Array.from({ length }, next);
}

test('the sequential order visits every key once before it begins again', () => {
  expect(take('sequential', 3, 0, 7)).toEqual([0, 1, 2, 0, 1, 2, 0]);
  expect(take('sequential', 1, 0, 3)).toEqual([0, 0, 0]);
});

test('the hot distribution is one key', () => {
  expect(new Set(take('hot', 1000, 5, 100))).toEqual(new Set([0]));
});

test.each(['uniform', 'zipf'] as const)('%s: the same seed sends the same keys, another seed sends others', (name) => {
  const keys = take(name, 1000, 5, 100);
  expect(take(name, 1000, 5, 100)).toEqual(keys);
  expect(take(name, 1000, 6, 100)).not.toEqual(keys);
});

test('uniform keys spread evenly over the whole range', () => {
  const keyCount = 10;
  const seen = new Array<number>(keyCount).fill(0);
  for (const key of take('uniform', keyCount, 1, 100_000)) seen[key]! += 1;
  for (const count of seen) expect(Math.abs(count - 10_000)).toBeLessThan(500);
});

test('zipf keys lie in the range, and the first is the most frequent', () => {
  const seen = new Map<number, number>();
  for (const key of take('zipf', 1000, 1, 100_000)) seen.set(key, (seen.get(key) ?? 0) + 1);
  expect(Math.min(...seen.keys())).toBe(0);
  expect(Math.max(...seen.keys())).toBeLessThan(1000);
  expect(Math.max(...seen.values())).toBe(seen.get(0));
});
