import { describe, expect, test } from 'vitest';
import { Engine } from '../keys/engine.js';
import { checkConsistency } from '../testing/check-consistency.js';
import { START_MS } from '../testing/nodes.js';
import { Random } from '../testing/random.js';
import { add, read, remove } from '../testing/single-key.js';
import { stemOf } from './key-bytes.js';
import { ShardWord } from './layout.js';

function makeEngine(shardCount = 1): Engine {
  return Engine.format({ maxMemoryBytes: 16 * 1024 * 1024, shardCount, origin: new Uint8Array(32), nowMs: START_MS });
}

function keysOf(engine: Engine): string[] {
  const { store } = engine;
  const keys: string[] = [];
  for (let index = 0; index < engine.shardCount; index++) {
    let at = 0;
    while (at < 2 ** 32)
      at = store.table.visitBucket(store.shardAt(index), at, (record) => {
        keys.push(Buffer.from(engine.keyOf(record)).toString('latin1'));
      });
  }
  return keys.sort();
}

/** The number of records by whether their keys have a stem. */
function countStems(engine: Engine): { with: number; without: number } {
  const { store } = engine;
  const counts = { with: 0, without: 0 };
  let at = 0;
  while (at < 2 ** 32)
    at = store.table.visitBucket(store.shardAt(0), at, (record) => {
      if (stemOf(store.memory, record) === 0) counts.without++;
      else counts.with++;
    });
  return counts;
}

describe('stems', () => {
  test('a beginning that many keys share is kept once', () => {
    const engine = makeEngine();
    for (let index = 0; index < 1000; index++) add(engine, `api:tenants:eu-west:requests:${index}`, 1n);
    expect(countStems(engine)).toEqual({ with: 999, without: 1 });
    checkConsistency(engine);
    const whole = makeEngine();
    for (let index = 0; index < 1000; index++) add(whole, `api-tenants-eu-west-requests-${index}`, 1n);
    expect(countStems(whole)).toEqual({ with: 0, without: 1000 });
    expect(engine.stats().usedBytes).toBeLessThan(whole.stats().usedBytes);
  });

  test('a beginning that only one key has is not kept apart', () => {
    const engine = makeEngine();
    for (let index = 0; index < 1000; index++) add(engine, `${index}-of-the-tenants:requests`, 1n);
    expect(countStems(engine).with).toBe(0);
  });

  test('a stem is freed with its last key, and its beginning can become one again', () => {
    const engine = makeEngine();
    for (let round = 0; round < 3; round++) {
      for (let index = 0; index < 50; index++) add(engine, `api:tenants:requests:${index}`, 1n);
      for (let index = 0; index < 50; index++) remove(engine, `api:tenants:requests:${index}`);
      const { memory } = engine.store;
      const chains = engine.store.shardAt(0) + ShardWord.stemChains;
      expect(memory.slice(chains, chains + 32).every((stem) => stem === 0)).toBe(true);
      checkConsistency(engine);
    }
  });

  test.each([1, 2, 3])('keys of any length with any beginnings are found and read back as they were (%i)', (seed) => {
    const random = new Random(seed);
    const engine = makeEngine(2);
    const held = new Map<string, bigint>();
    const beginnings = Array.from({ length: 400 }, (_, index) => `${'ab:cdef/gh|'.repeat(index % 30)}${index >> 2}:`);
    for (let step = 0; step < 20_000; step++) {
      const beginning = beginnings[random.below(random.below(2) === 0 ? beginnings.length : 8)] as string;
      const key = `${beginning}${'z'.repeat(random.below(6))}${random.below(2) === 0 ? '' : random.below(40)}`;
      if (random.below(5) < 3) {
        add(engine, key, 1n);
        held.set(key, (held.get(key) ?? 0n) + 1n);
      } else {
        remove(engine, key);
        held.delete(key);
      }
      if (step % 4000 === 0) checkConsistency(engine);
    }
    expect(keysOf(engine)).toEqual([...held.keys()].sort());
    for (const [key, value] of held) expect(read(engine, key).value).toBe(value);
    checkConsistency(engine);
    for (const key of held.keys()) remove(engine, key);
    expect(keysOf(engine)).toEqual([]);
    checkConsistency(engine);
  });
});
