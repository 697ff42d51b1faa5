import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { flippedKeys, seededXorMultiplyRotate } from '../testing/colliding-keys.js';
import { halfSipHash } from '../testing/half-sip-hash.js';
import { hashSecretOf, Random } from '../testing/random.js';
import { ByteInput } from './byte-input.js';
import { KeyHash, KeyPrefix, sharedHashOf, sharedHashOfRecord } from './hash.js';
import { Component, clearComponent, keyWords } from './record.js';

function hasher(secret: Uint8Array): KeyHash {
  return new KeyHash(new Int32Array(secret.slice().buffer));
}

function hashOf(secret: Uint8Array, key: Uint8Array, offset = 0): { shared: number; local: number } {
  const bytes = new Uint8Array(offset + key.length + ByteInput.SLACK_BYTES).fill(0xee);
  bytes.set(key, offset);
  const hash = hasher(secret);
  hash.ofInput(new ByteInput(bytes), offset, key.length);
  return { shared: hash.shared, local: hash.local };
}

const secrets = fc.uint8Array({ minLength: 16, maxLength: 16 });
const counting = (length: number) => Uint8Array.from({ length }, (_, index) => index);

describe('the hash of a key', () => {
  test('depends on nothing but the key: not on where it lies nor on what lies behind it', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), fc.nat({ max: 9 }), secrets, (key, offset, secret) => {
        expect(hashOf(secret, key, offset)).toEqual(hashOf(secret, key));
      }),
    );
  });

  test('is the same read from a record as from the input it was made from, and alone as with the other', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), secrets, (key, secret) => {
        const memory = new Int32Array(100 + keyWords(key.length));
        clearComponent(memory, 10, key.length, 0);
        new Uint8Array(memory.buffer).set(key, (10 + Component.stemOrKey) * 4);
        const { shared, local } = hashOf(secret, key);
        expect(hasher(secret).localOf(memory, 10)).toBe(local);
        expect(sharedHashOfRecord(memory, 10)).toBe(shared);
        expect(sharedHashOf(ByteInput.copyOf(key), 0, key.length)).toBe(shared);
      }),
    );
  });

  test('is the same where the first bytes were hashed before, for any keys that share them', () => {
    const keys = fc.array(fc.uint8Array({ maxLength: 40 }), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(
        fc.nat({ max: 6 }),
        fc.uint8Array({ minLength: 24, maxLength: 24 }),
        keys,
        secrets,
        (words, ...rest) => {
          const [header, identifiers, secret] = rest;
          const hash = hasher(secret);
          const prefix = new KeyPrefix();
          hash.ofPrefix(prefix, ByteInput.copyOf(header), 0, words * 4);
          for (const identifier of identifiers) {
            const key = Uint8Array.from([...header.subarray(0, words * 4), ...identifier]);
            hash.ofRest(prefix, ByteInput.copyOf(key), 0, key.length);
            expect({ shared: hash.shared, local: hash.local }).toEqual(hashOf(secret, key));
          }
        },
      ),
    );
  });

  test('that chooses the shard is the same on every node and in every version, the one of the bucket is not', () => {
    const key = new TextEncoder().encode('user:12345');
    expect(hashOf(hashSecretOf(1), key).shared).toBe(hashOf(hashSecretOf(2), key).shared);
    expect(hashOf(hashSecretOf(1), key).local).not.toBe(hashOf(hashSecretOf(2), key).local);
    // In digests on the wire, and the reason why a snapshot's key is in its shard: these must never change.
    const golden = ['', 'a', 'user:12345', 'user:12345:visits'].map(
      (text) => hashOf(new Uint8Array(16), new TextEncoder().encode(text)).shared >>> 0,
    );
    expect(golden).toEqual(GOLDEN_SHARED);
  });

  test('spreads numbered keys evenly over shards, buckets and tags', () => {
    const counts = { shard: new Int32Array(64), bucket: new Int32Array(64), tag: new Int32Array(256) };
    const keys = 64_000;
    for (let index = 0; index < keys; index++) {
      const { shared, local } = hashOf(hashSecretOf(77), new TextEncoder().encode(`user:${index}:visits`));
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

describe('the local hash', () => {
  test('is HalfSipHash-1-3: with a secret of two equal halves the results that Linux tests its own with', () => {
    const secret = Uint8Array.from([...counting(8), ...counting(8)]);
    const results = Array.from({ length: 20 }, (_, length) => hashOf(secret, counting(length)).local >>> 0);
    expect(results).toEqual(HALF_SIP_HASH_1_3);
  });

  test('agrees with a plain implementation for every secret and key', () => {
    expect(halfSipHash(counting(8), counting(0), 2, 4) >>> 0).toBe(0x5b9f35a9); // of the authors' own test vectors
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), secrets, (key, secret) => {
        expect(hashOf(secret, key).local).toBe(halfSipHash(secret, key, 1, 3));
      }),
    );
  });

  test('does not collide under flips of two bits that made every key collide under the hash before it', () => {
    const keys = flippedKeys(12, 13);
    for (let seed = 0; seed < 5; seed++) {
      expect(new Set(keys.map((key) => seededXorMultiplyRotate(seed * 7919, key))).size).toBe(1);
      // 4096 keys into 2^32: two pairs would be an accident of one in a million.
      expect(new Set(keys.map((key) => hashOf(hashSecretOf(seed), key).local)).size).toBeGreaterThanOrEqual(4095);
    }
  });

  test.each(Object.entries(structuredKeys()))('spreads %s like chance, for every secret', (_name, keys) => {
    for (let seed = 100; seed < 106; seed++) {
      const hash = hasher(hashSecretOf(seed));
      const whole = new Set<number>();
      const buckets = new Int32Array(4096);
      for (const key of keys) {
        hash.ofInput(ByteInput.copyOf(key), 0, key.length);
        whole.add(hash.local);
        buckets[hash.local & 4095]++;
      }
      const mean = keys.length / buckets.length;
      expect(keys.length - whole.size, 'collisions of 32 bits').toBeLessThanOrEqual(
        2 + (keys.length ** 2 / 2 ** 33) * 4,
      );
      expect(Math.max(...buckets), 'the fullest of 4096 buckets').toBeLessThan(mean + 8 * Math.sqrt(mean) + 8);
    }
  });
});

/** Sets of keys that differ as little, or as regularly, as keys of an attacker would. */
function structuredKeys(): Record<string, Uint8Array[]> {
  const base = Uint8Array.from({ length: 32 }, (_, index) => (index * 37 + 11) % 256);
  const flip = (key: Uint8Array, bit: number) => {
    const flipped = key.slice();
    flipped[bit >> 3] ^= 1 << (bit & 7);
    return flipped;
  };
  const bits = Array.from({ length: 256 }, (_, bit) => bit);
  const random = new Random(4);
  const words = (of: readonly number[]) => new Uint8Array(Uint32Array.from(of).buffer);
  const sums = Array.from({ length: 8192 }, (_, index) => [index, -index]);
  return {
    'one flipped bit': bits.map((bit) => flip(base, bit)),
    'two flipped bits': bits.flatMap((first) => bits.slice(first + 1).map((second) => flip(flip(base, first), second))),
    'top bits of eight words and the bits beside them': flippedKeys(6, 5).concat(flippedKeys(7, 8), flippedKeys(8, 16)),
    'two words whose sum is the same': sums.map((pair) => words([1, ...pair, 1])),
    'two words whose xor is the same': sums.map(([index]) => words([index << 16, (index << 16) ^ 0x5bd1e995, 7, 7])),
    'the same word at another place': Array.from({ length: 4096 }, (_, index) =>
      words(Array.from({ length: 12 }, (_unused, bit) => ((index >> bit) & 1 ? 0x80000000 : 0))),
    ),
    'zeros of another length': Array.from({ length: 4096 }, (_, length) => new Uint8Array(length)),
    'numbers in text': Array.from({ length: 16_384 }, (_, index) => new TextEncoder().encode(`user:${index}`)),
    'random bytes': Array.from({ length: 8192 }, () => Uint8Array.from({ length: 16 }, () => random.below(256))),
  };
}

const GOLDEN_SHARED = [1883914607, 97110515, 2490348653, 1150885766];
const HALF_SIP_HASH_1_3 = [
  0x5814c896, 0xe7e864ca, 0xbc4b0e30, 0x01539939, 0x7e059ea6, 0x88e3d89b, 0xa0080b65, 0x9d38d9d6, 0x577999b1,
  0xc839caed, 0xe4fa32cf, 0x959246ee, 0x6b28096c, 0x66dd9cd6, 0x16658a7c, 0xd0257b04, 0x8b31d501, 0x2b1cd04b,
  0x06712339, 0x522aca67,
];
