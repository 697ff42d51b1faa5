import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Engine } from '../keys/engine.js';
import { checkConsistency } from '../testing/check-consistency.js';
import { flippedKeys } from '../testing/colliding-keys.js';
import { START_MS } from '../testing/nodes.js';
import { hashSecretOf } from '../testing/random.js';
import { add, expireAt, read, remove, scanAll } from '../testing/single-key.js';
import { tableNodes } from '../testing/table-nodes.js';
import { ByteInput } from './byte-input.js';
import { sharedHashOf } from './hash.js';

function makeEngine(shardCount = 1, seed = 0): Engine {
  return Engine.format({
    maxMemoryBytes: 16 * 1024 * 1024,
    shardCount,
    hashSecret: hashSecretOf(seed),
    origin: new Uint8Array(32),
    nowMs: START_MS,
  });
}

/** Keys that fall into one bucket, with one tag: found by trying, which takes the secret. */
function collidingKeys(engine: Engine, count: number): Uint8Array[] {
  const { hash } = engine.store;
  const keys: Uint8Array[] = [];
  const input = ByteInput.copyOf(Buffer.from('collides'));
  for (let index = 0; keys.length < count; index++) {
    input.view.setUint32(0, index);
    hash.ofInput(input, 0, 8);
    if ((hash.local & 0xff0000ff) === 0) keys.push(input.bytes.slice(0, 8));
  }
  return keys;
}

/** Keys of one shard, of 64: anyone can find them. */
function aimedKeys(count: number): Uint8Array[] {
  const keys: Uint8Array[] = [];
  for (let index = 0; keys.length < count; index++) {
    const key = Buffer.from(`aimed:${index}`);
    if (sharedHashOf(ByteInput.copyOf(key), 0, key.length) >>> 26 === 5) keys.push(key);
  }
  return keys;
}

/** Buckets and overflow nodes that a look-up of each key reads, on average. */
function nodesRead(engine: Engine): number {
  let reads = 0;
  let records = 0;
  for (let index = 0; index < engine.shardCount; index++) {
    let depth = 0;
    for (const node of tableNodes(engine.store, engine.store.shardAt(index))) {
      depth = node.isOverflow ? depth + 1 : 1;
      reads += depth * node.records.length;
      records += node.records.length;
    }
  }
  return reads / records;
}

describe('the table', () => {
  test('finds every key while it grows from one bucket to thousands', () => {
    const engine = makeEngine();
    const count = 20_000;
    for (let index = 0; index < count; index++) {
      add(engine, `key:${index}`, BigInt(index));
      const earlier = Math.floor(index / 2);
      if (read(engine, `key:${earlier}`).value !== BigInt(earlier)) expect.fail(`key:${earlier} after ${index}`);
    }
    expect(engine.stats().buckets).toBeGreaterThan(1000);
    for (let index = 0; index < count; index++)
      if (read(engine, `key:${index}`).value !== BigInt(index)) expect.fail(`key:${index}`);
    expect(read(engine, `key:${count}`).exists).toBe(false);
    checkConsistency(engine);
  });

  test('distinguishes keys that fall into one bucket with one tag, while they come and go', () => {
    const engine = makeEngine(1, 12345);
    const keys = collidingKeys(engine, 64);
    for (const [index, key] of keys.entries()) add(engine, key, BigInt(index + 1));
    for (let index = 0; index < 2000; index++) add(engine, `key:${index}`, 1n);
    for (const [index, key] of keys.entries()) expect(read(engine, key).value).toBe(BigInt(index + 1));
    for (const key of keys.slice(0, 50)) remove(engine, key);
    checkConsistency(engine);
    for (const [index, key] of keys.entries()) expect(read(engine, key).exists).toBe(index >= 50);
    for (const key of keys) remove(engine, key);
    expect(engine.keyCount()).toBe(2000);
    checkConsistency(engine);
  });

  test('has short buckets whatever keys a client chooses without the secret', () => {
    for (const rotation of [5, 7, 8, 13, 16]) {
      const engine = makeEngine(64, rotation);
      for (const key of flippedKeys(14, rotation)) add(engine, key, 1n);
      expect(engine.stats().longestBucket).toBeLessThan(60);
      expect(nodesRead(engine)).toBeLessThan(1.3);
    }
  });

  test('reads as few nodes for a key where clients have chosen one shard for all of them', () => {
    const count = 20_000;
    const spread = makeEngine(64);
    for (let index = 0; index < count; index++) add(spread, `spread:${index}`, 1n);
    const aimed = makeEngine(64);
    for (const key of aimedKeys(count)) add(aimed, key, 1n);
    expect(spread.stats().largestShard).toBeLessThan(500);
    expect(aimed.stats().largestShard).toBe(count);
    expect(aimed.stats().longestBucket).toBeLessThan(60);
    expect(nodesRead(aimed)).toBeLessThan(nodesRead(spread) * 1.2);
  });

  test('says how many records a split has found in one bucket, so that keys that collide show', () => {
    const engine = makeEngine(1, 12345);
    for (const key of collidingKeys(engine, 100)) add(engine, key, 1n);
    for (let index = 0; index < 4000; index++) add(engine, `key:${index}`, 1n);
    expect(engine.stats().longestBucket).toBeGreaterThanOrEqual(100);
    engine.removeAll();
    expect(engine.stats().longestBucket).toBe(0);
  });

  test('distinguishes keys that are the beginning of each other, and zero bytes from none', () => {
    const engine = makeEngine();
    const keys = Array.from({ length: 40 }, (_, length) => new Uint8Array(length));
    for (const [length, key] of keys.entries()) add(engine, key, BigInt(length + 1));
    for (const [length, key] of keys.entries()) expect(read(engine, key).value).toBe(BigInt(length + 1));
    expect(engine.keyCount()).toBe(40);
  });
});

describe('a scan', () => {
  test('returns every key that stays at least once, while others come and go and the table grows', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(1, 4),
        fc.integer({ min: 0, max: 400 }),
        fc.integer({ min: 1, max: 50 }),
        fc.array(fc.nat({ max: 120 }), { maxLength: 60 }),
        (shardCount, staying, count, arrivals) => {
          const engine = makeEngine(shardCount, staying);
          for (let index = 0; index < staying; index++) add(engine, `stays:${index}`, 1n);
          for (let index = 0; index < 100; index++) add(engine, `goes:${index}`, 1n);
          const seen = new Set<string>();
          let cursor = 0n;
          let turn = 0;
          do {
            cursor = engine.scan(cursor, count, (key) => seen.add(Buffer.from(key).toString()));
            for (let arrival = 0; arrival < (arrivals[turn] ?? 0); arrival++) add(engine, `new:${turn}:${arrival}`, 1n);
            remove(engine, `goes:${turn}`);
            turn++;
            expect(turn).toBeLessThan(10_000);
          } while (cursor !== 0n);
          for (let index = 0; index < staying; index++) expect(seen.has(`stays:${index}`)).toBe(true);
        },
      ),
      { numRuns: 60 },
    );
  });

  test('of a store that does not change returns every key once', () => {
    const engine = makeEngine(4);
    for (let index = 0; index < 3000; index++) add(engine, `key:${index}`, 1n);
    const keys = scanAll(engine, 7).map((key) => Buffer.from(key).toString());
    expect(keys.length).toBe(3000);
    expect(new Set(keys).size).toBe(3000);
  });

  test('takes any cursor: one that it never gave leads to some keys or to the end', () => {
    const engine = makeEngine(4);
    for (let index = 0; index < 100; index++) add(engine, `key:${index}`, 1n);
    fc.assert(
      fc.property(fc.bigInt(0n, 2n ** 64n - 1n), (start) => {
        let cursor = start;
        let turns = 0;
        do {
          cursor = engine.scan(cursor, 10, (key) => expect(read(engine, key).exists).toBe(true));
          turns++;
        } while (cursor !== 0n && turns < 1000);
        expect(cursor).toBe(0n);
      }),
    );
  });

  test('leaves out keys that have expired, whether or not they were dropped yet', () => {
    const engine = makeEngine();
    for (let index = 0; index < 50; index++) {
      add(engine, `key:${index}`, 1n);
      if (index % 2 === 0) expireAt(engine, `key:${index}`, START_MS + 1000);
    }
    engine.advanceTo(START_MS + 1000);
    expect(scanAll(engine).length).toBe(25);
  });
});

describe('a random key', () => {
  test('is one that exists, and every key can be it', () => {
    const engine = makeEngine(4);
    for (let index = 0; index < 60; index++) add(engine, `key:${index}`, 1n);
    for (let index = 0; index < 20; index++) remove(engine, `key:${index}`);
    for (let index = 20; index < 30; index++) expireAt(engine, `key:${index}`, START_MS + 1000);
    engine.advanceTo(START_MS + 1000);
    const seen = new Set<string>();
    for (let draw = 0; draw < 5000; draw++) {
      const key = engine.randomKey((draw * 0.6180339887498949) % 1);
      seen.add(Buffer.from(key as Uint8Array).toString());
    }
    expect([...seen].sort()).toEqual(Array.from({ length: 30 }, (_, index) => `key:${index + 30}`).sort());
  });

  test('of a store with one key is that key, wherever the dice fall; of an empty one there is none', () => {
    const engine = makeEngine(64);
    const entropies = [0, 0.25, 0.5, 0.999999, 1 - Number.EPSILON / 2];
    for (const entropy of entropies) expect(engine.randomKey(entropy)).toBe(undefined);
    add(engine, 'only', 1n);
    for (const entropy of entropies) expect(Buffer.from(engine.randomKey(entropy) ?? '').toString()).toBe('only');
  });
});
