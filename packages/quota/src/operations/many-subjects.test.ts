import { expect, test } from 'vitest';
import { startLoneRegion } from '../testing/lone-region.js';

const NOW_MS = Date.UTC(2026, 5, 1);
/** More than are looked after at once. */
const SUBJECTS = 68_000;

test('of many subjects the ones longest out of use are let go, and nothing of their limits with them', () => {
  const { book, broker, operations } = startLoneRegion({ nowMs: () => NOW_MS, maxMemoryBytes: 64 * 1024 * 1024 });
  book.define({ name: 'calls', limit: 1, windowMs: 3_600_000, allocator: 'a', shares: [], waitMs: 0 }, NOW_MS);
  const allowed = new Uint8Array(SUBJECTS);
  const take = (index: number) => {
    const subject = new Uint8Array(4);
    new DataView(subject.buffer).setUint32(0, index);
    operations.take({ items: [{ name: 'calls', subject, cost: 1 }] }, (answer) => {
      if ('isAllowed' in answer && answer.isAllowed) allowed[index]++;
    });
  };
  for (let round = 0; round < 2; round++) for (let index = 0; index < SUBJECTS; index++) take(index);
  expect(allowed.every((count) => count === 1)).toBe(true);
  expect(broker.allotmentCount).toBeLessThanOrEqual(65_536);
}, 240_000);
