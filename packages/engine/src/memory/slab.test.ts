import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { HASH_SECRET_BYTES, HeaderWord, PAGE_WORDS } from './layout.js';
import { Slab } from './slab.js';
import { Store } from './store.js';

const MEMORY_BYTES = 6 * 1024 * 1024;

function makeStore(): Store {
  return Store.format(new ArrayBuffer(MEMORY_BYTES), {
    shardCount: 2,
    hashSecret: new Uint8Array(HASH_SECRET_BYTES),
    pagesFromByte: 0,
    spareBytes: 0,
  });
}

const steps = fc.array(
  fc.record({
    shard: fc.nat({ max: 1 }),
    gives: fc.boolean(),
    which: fc.nat(),
    words: fc.oneof(
      fc.integer({ min: 4, max: 70 }),
      fc.integer({ min: 4, max: 1100 }),
      fc.integer({ min: 900, max: 17_000 }),
    ),
  }),
  { maxLength: 300 },
);

describe('the slab', () => {
  test('gives out each piece of memory once, aligned for numbers, and takes all of it back', () => {
    fc.assert(
      fc.property(steps, (sequence) => {
        const store = makeStore();
        const { memory, slab } = store;
        const usedBefore = memory[HeaderWord.pagesUsed];
        const taken: { shard: number; address: number; words: number; mark: number }[] = [];
        let mark = 0;
        for (const step of sequence) {
          if (step.gives && taken.length > 0) {
            const [given] = taken.splice(step.which % taken.length, 1);
            expect(
              memory.subarray(given.address, given.address + given.words).every((word) => word === given.mark),
            ).toBe(true);
            slab.give(given.shard, given.address);
            continue;
          }
          const shard = store.shardAt(step.shard);
          const address = slab.take(shard, step.words, true);
          if (address === 0) continue;
          expect(address % 2).toBe(0);
          expect(address).toBeGreaterThanOrEqual(store.regions.firstPage * PAGE_WORDS);
          mark++;
          memory.fill(mark, address, address + step.words);
          taken.push({ shard, address, words: step.words, mark });
        }
        for (const { address, words, mark: own } of taken)
          expect(memory.subarray(address, address + words).every((word) => word === own)).toBe(true);
        for (const { shard, address } of taken) slab.give(shard, address);
        // One page of each size that was used may be kept by each shard, as long as there are plenty.
        const sizes = new Set(sequence.map((step) => `${step.shard}:${Slab.footprintBytes(step.words)}`));
        expect(memory[HeaderWord.pagesUsed] - usedBefore).toBeLessThanOrEqual(sizes.size);
      }),
      { numRuns: 150 },
    );
  });

  test('says how much a record takes up: at least its size, and at most an eighth more from 256 bytes on', () => {
    for (let words = 4; words < 960; words++) {
      const bytes = Slab.footprintBytes(words);
      expect(bytes).toBeGreaterThanOrEqual(words * 4);
      expect(bytes).toBeLessThanOrEqual(words < 64 ? words * 4 + 8 : words * 4 * 1.13);
    }
    expect(Slab.footprintBytes(16_400) % (PAGE_WORDS * 4)).toBe(0);
  });
});
