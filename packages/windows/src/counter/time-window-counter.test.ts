import fc from 'fast-check';
import { expect, test } from 'vitest';
import { MemoryWindowStore } from '../adapters/memory.js';
import type { WindowCounterStore } from '../window/store.js';
import { TimeWindowCounter } from './time-window-counter.js';

test('returns the count, the window, the time left of it, and whether the threshold is reached', async () => {
  let nowMs = 120_250;
  const now = () => nowMs;
  const counter = new TimeWindowCounter({
    store: new MemoryWindowStore({ now }),
    durationMs: 1_000,
    threshold: 3,
    now,
  });
  const window = { startMs: 120_000, endMs: 121_000 };
  expect(await counter.increment('key', 2)).toEqual({
    ...window,
    count: 2n,
    remainingMs: 750,
    thresholdReached: false,
  });
  nowMs = 120_999;
  expect(await counter.increment('key')).toEqual({ ...window, count: 3n, remainingMs: 1, thresholdReached: true });
  expect(await counter.read('key')).toMatchObject({ count: 3n, thresholdReached: true });
  nowMs = 121_000;
  expect(await counter.read('key')).toEqual({
    count: 0n,
    startMs: 121_000,
    endMs: 122_000,
    remainingMs: 1_000,
    thresholdReached: false,
  });
});

test('without a threshold there is nothing to say about one', async () => {
  const counter = new TimeWindowCounter({ store: new MemoryWindowStore(), durationMs: 60_000 });
  expect((await counter.increment('key')).thresholdReached).toBeUndefined();
});

test('past the threshold it counts on: deciding is for others', async () => {
  const counter = new TimeWindowCounter({ store: new MemoryWindowStore(), durationMs: 3_600_000, threshold: 1 });
  for (let count = 1n; count <= 10n; count++) expect((await counter.increment('key')).count).toBe(count);
});

test('windows can be aligned to another time than 1970', async () => {
  const now = () => 1_000_500;
  const counter = new TimeWindowCounter({
    store: new MemoryWindowStore({ now }),
    durationMs: 1_000,
    alignedToMs: 300,
    now,
  });
  expect(await counter.read('key')).toMatchObject({ startMs: 1_000_300, endMs: 1_001_300 });
});

test('a failing store is asked once, and its error is passed on untouched', async () => {
  let asked = 0;
  const failure = new Error('the store is away');
  const fail = async () => {
    asked++;
    throw failure;
  };
  const store: WindowCounterStore = { increment: fail, read: fail };
  const counter = new TimeWindowCounter({ store, durationMs: 1_000, threshold: 1 });
  await expect(counter.increment('key')).rejects.toBe(failure);
  await expect(counter.read('key')).rejects.toBe(failure);
  expect(asked).toBe(2);
});

test('a duration that is none is refused when the counter is made', () => {
  expect(() => new TimeWindowCounter({ store: new MemoryWindowStore(), durationMs: 0 })).toThrow(RangeError);
});

test('clocks that differ lose and mix nothing: each counts in the window that its own clock is in', async () => {
  const skews = fc.array(fc.integer({ min: -5_000, max: 5_000 }), { minLength: 1, maxLength: 4 });
  const steps = fc.array(
    fc.record({ process: fc.nat(3), passesMs: fc.oneof(fc.constantFrom(0, 1, 999, 1_000), fc.nat(2_500)) }),
    { maxLength: 40 },
  );
  await fc.assert(
    fc.asyncProperty(skews, steps, fc.constantFrom(1, 7, 1_000, 60_000), async (skewsMs, taken, durationMs) => {
      let nowMs = 1_763_251_199_999;
      // By the clock that is furthest behind nothing is over that anybody still counts in.
      const store = new MemoryWindowStore({ now: () => nowMs + Math.min(...skewsMs) });
      const counters = skewsMs.map((skewMs) => new TimeWindowCounter({ store, durationMs, now: () => nowMs + skewMs }));
      const expected = new Map<bigint, bigint>();
      for (const { process, passesMs } of taken) {
        nowMs += passesMs;
        const index = process % skewsMs.length;
        const window = BigInt(nowMs + skewsMs[index]!) / BigInt(durationMs);
        expected.set(window, (expected.get(window) ?? 0n) + 1n);
        const { count, startMs, endMs } = await counters[index]!.increment('key');
        expect([count, BigInt(startMs)]).toEqual([expected.get(window), window * BigInt(durationMs)]);
        expect(endMs - startMs).toBe(durationMs);
      }
    }),
  );
});
