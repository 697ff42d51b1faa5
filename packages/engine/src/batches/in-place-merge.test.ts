import { expect, test } from 'vitest';
import type { Engine } from '../keys/engine.js';
import { splitInt64 } from '../memory/int64.js';
import { checkConsistency } from '../testing/check-consistency.js';
import { makeNode as makeTestNode } from '../testing/nodes.js';
import { valueOfOpen, withKey } from '../testing/single-key.js';
import { Batch } from './batch.js';
import { Merge } from './merge.js';
import { batchSince } from './walk.js';

const makeNode = (name: number) => makeTestNode(name, { expiryGraceMs: 10_000 }).engine;

/** Merges the changes of `from` since `start` into the other. */
function pass(from: Engine, merge: Merge, start: number): number {
  const batch = batchSince(from, 0, 0, start, new Batch());
  merge.apply(batch);
  return batch.to;
}

test.each([
  ['small amounts', [1n, 2n, 3n]],
  ['amounts that carry into the high half of the sum', [2n ** 32n - 2n, 1n, 5n]],
  ['amounts past 32 bits', [2n ** 40n, 7n, 2n ** 45n]],
  ['amounts whose sum needs more than 64 bits', [2n ** 62n, 2n ** 61n, 3n]],
])('a generation that has grown counts with its present amount: %s', (_, amounts) => {
  const from = makeNode(1);
  const other = makeNode(3);
  const to = makeNode(2);
  const merge = new Merge(to);
  let seen = 0;
  let seenOther = 0;
  let expected = 0n;
  for (const amount of amounts) {
    for (const node of [from, other]) withKey(node, 'k', () => node.add(...splitInt64(amount)));
    seen = pass(from, merge, seen);
    seenOther = pass(other, merge, seenOther);
    expected += 2n * amount;
    const largest = 2n ** 63n - 1n;
    expect(withKey(to, 'k', () => valueOfOpen(to))).toBe(expected > largest ? largest : expected);
    checkConsistency(to);
    expect(to.digestOf(0, to.origins.find(from.origins.idOf(0)))).toBe(from.digestOf(0, 0));
  }
});

test('growth after the end of the generation that grew is a generation of its own', () => {
  const from = makeNode(1);
  const to = makeNode(2);
  const merge = new Merge(to);
  withKey(from, 'k', () => from.add(0, 5));
  let seen = pass(from, merge, 0);
  withKey(from, 'k', () => from.remove());
  withKey(from, 'k', () => from.add(0, 9));
  seen = pass(from, merge, seen);
  expect(withKey(to, 'k', () => valueOfOpen(to))).toBe(9n);
});

test('growth after an expiry has passed here is not counted, and growth after a reset only from there on', () => {
  const from = makeNode(1);
  const to = makeNode(2);
  const merge = new Merge(to);
  withKey(from, 'expires', () => {
    from.add(0, 5);
    from.expireAt(from.nowMs + 1000);
  });
  withKey(from, 'reset', () => from.add(0, 5));
  let seen = pass(from, merge, 0);
  withKey(to, 'reset', () => to.remove());
  withKey(from, 'expires', () => from.add(0, 1));
  withKey(from, 'reset', () => from.add(0, 1));
  to.advanceTo(to.nowMs + 2000);
  seen = pass(from, merge, seen);
  expect(seen).toBeGreaterThan(0);
  expect(withKey(to, 'expires', () => valueOfOpen(to))).toBe(0n);
  expect(withKey(to, 'reset', () => valueOfOpen(to))).toBe(1n);
  checkConsistency(to);
});
