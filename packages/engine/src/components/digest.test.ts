import { describe, expect, test } from 'vitest';
import { Engine } from '../keys/engine.js';
import { checkConsistency } from '../testing/check-consistency.js';
import { add, expireAt, remove } from '../testing/single-key.js';

const START_MS = Date.UTC(2026, 0, 1);

function makeEngine(): Engine {
  return Engine.format({
    maxMemoryBytes: 4 * 1024 * 1024,
    origin: new Uint8Array(32).fill(1),
    nowMs: START_MS,
    shardCount: 1,
  });
}

describe('the digest kept while keys change equals one made from scratch', () => {
  test('when a key that is in it gets its first decrement', () => {
    const engine = makeEngine();
    add(engine, 'a', 1n);
    engine.digestOf(0, 0);
    add(engine, 'a', -1n);
    checkConsistency(engine);
  });

  test('when a key that is in it is dropped by the wheel', () => {
    const engine = makeEngine();
    add(engine, 'a', 1n);
    add(engine, 'b', 1n);
    expireAt(engine, 'a', START_MS + 1000);
    engine.digestOf(0, 0);
    engine.advanceTo(START_MS + 5000);
    expect(engine.expireSome(100)).toBeGreaterThan(0);
    expect(engine.keyCount()).toBe(1);
    checkConsistency(engine);
  });

  test('when one of its sums is full and starts again', () => {
    const engine = makeEngine();
    const full = 2n ** 63n - 1n;
    for (const amount of [full, -full, full, -full, 1n]) add(engine, 'a', amount);
    engine.digestOf(0, 0);
    add(engine, 'a', full);
    add(engine, 'b', 1n);
    checkConsistency(engine);
  });
});

test('the digest of a store without a key is that of an empty store', () => {
  const engine = makeEngine();
  const empty = engine.digestOf(0, 0);
  for (let index = 0; index < 100; index++) add(engine, `key:${index}`, BigInt(index - 50));
  expect(engine.digestOf(0, 0)).not.toBe(empty);
  for (let index = 0; index < 100; index++) remove(engine, `key:${index}`);
  expect(engine.digestOf(0, 0)).toBe(empty);
});

test('the digest does not depend on the order in which keys were made', () => {
  const one = makeEngine();
  const other = makeEngine();
  for (const engine of [one, other]) engine.advanceTo(START_MS + 1);
  add(one, 'a', 1n);
  one.digestOf(0, 0);
  add(one, 'b', 2n);
  add(other, 'a', 1n);
  add(other, 'b', 2n);
  expect(one.digestOf(0, 0)).toBe(other.digestOf(0, 0));
  add(other, 'b', 1n);
  expect(one.digestOf(0, 0)).not.toBe(other.digestOf(0, 0));
});
