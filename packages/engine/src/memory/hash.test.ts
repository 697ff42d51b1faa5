import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ByteInput } from './byte-input.js';
import { KeyHash } from './hash.js';
import { Component, clearComponent, keyWords } from './record.js';

function hashOf(seed: number, key: Uint8Array, offset = 0): { shared: number; local: number } {
  const bytes = new Uint8Array(offset + key.length + ByteInput.SLACK_BYTES).fill(0xee);
  bytes.set(key, offset);
  const hash = new KeyHash(seed);
  hash.ofInput(new ByteInput(bytes), offset, key.length);
  return { shared: hash.shared, local: hash.local };
}

describe('the hash of a key', () => {
  test('depends on nothing but the key: not on where it lies nor on what lies behind it', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), fc.nat({ max: 9 }), fc.integer(), (key, offset, seed) => {
        expect(hashOf(seed, key, offset)).toEqual(hashOf(seed, key));
      }),
    );
  });

  test('is the same read from a record as from the input it was made from', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.integer(), (key, seed) => {
        const memory = new Int32Array(100 + keyWords(key.length));
        clearComponent(memory, 10, key.length, 0);
        new Uint8Array(memory.buffer).set(key, (10 + Component.key) * 4);
        const hash = new KeyHash(seed);
        hash.ofRecord(memory, 10);
        expect({ shared: hash.shared, local: hash.local }).toEqual(hashOf(seed, key));
      }),
    );
  });

  test('that chooses the shard is the same on every node, the one that chooses the bucket is not', () => {
    const key = new TextEncoder().encode('user:12345');
    expect(hashOf(1, key).shared).toBe(hashOf(2, key).shared);
    expect(hashOf(1, key).local).not.toBe(hashOf(2, key).local);
  });

  test('spreads numbered keys evenly over shards, buckets and tags', () => {
    const counts = { shard: new Int32Array(64), bucket: new Int32Array(64), tag: new Int32Array(256) };
    const keys = 64_000;
    for (let index = 0; index < keys; index++) {
      const { shared, local } = hashOf(77, new TextEncoder().encode(`user:${index}:visits`));
      counts.shard[shared >>> 26]++;
      counts.bucket[local & 63]++;
      counts.tag[local >>> 24]++;
    }
    for (const [name, of] of Object.entries(counts)) {
      const mean = keys / of.length;
      const slack = 6 * Math.sqrt(mean);
      expect(Math.min(...of), name).toBeGreaterThan(mean - slack);
      expect(Math.max(...of), name).toBeLessThan(mean + slack);
    }
  });
});
