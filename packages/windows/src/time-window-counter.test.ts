import { expect, test } from 'vitest';
import { MemoryWindowStore } from './adapters/memory.js';
import type { WindowCounterStore } from './store.js';
import { TimeWindowCounter } from './time-window-counter.js';

test('tells the count, the window, what remains of it, and whether the threshold is reached', async () => {
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
