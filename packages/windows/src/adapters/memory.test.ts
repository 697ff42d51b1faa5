import { expect, test } from 'vitest';
import { describeWindowCounterStore } from '../conformance/index.js';
import { fixedWindowAt } from '../window/window.js';
import { MemoryWindowStore } from './memory.js';

describeWindowCounterStore('MemoryWindowStore', () => {
  const store = new MemoryWindowStore();
  const later = fixedWindowAt(Date.now() + 3_600_000, 60_000);
  return {
    store,
    held: async () => {
      // It drops ended windows when it counts.
      await store.increment('sweep', later);
      return store.size;
    },
  };
});

test('windows that are over are dropped whole', async () => {
  let nowMs = 0;
  const store = new MemoryWindowStore({ now: () => nowMs });
  for (let second = 0; second < 100; second++) {
    nowMs = second * 1_000;
    for (let key = 0; key < 10; key++) await store.increment(`key ${key}`, fixedWindowAt(nowMs, 1_000));
    expect(store.size).toBe(10);
  }
});

test('a count is there up to the last millisecond of its window, and not in the next', async () => {
  let nowMs = 0;
  const store = new MemoryWindowStore({ now: () => nowMs });
  const window = fixedWindowAt(0, 1_000);
  await store.increment('key', window);
  nowMs = 999;
  expect(await store.read('key', window)).toBe(1n);
  expect(await store.expiry('key', window)).toEqual({ endMs: 1_000, remainingMs: 1 });
  nowMs = 1_000;
  expect(await store.read('key', window)).toBe(0n);
  expect(await store.expiry('key', window)).toBeUndefined();
});
