import { Engine } from '@quotadb/engine';
import { expect, test } from 'vitest';
import { Keeper } from './keeper.js';
import { Operations } from './operations.js';
import { PolicyBook } from './policy-book.js';

const NOW_MS = Date.UTC(2026, 5, 1);
/** More than are looked after at once. */
const SUBJECTS = 68_000;

test('of many subjects the ones longest out of use are let go, and nothing of their limits with them', () => {
  const origin = new Uint8Array(32).fill(1);
  const engine = Engine.format({ maxMemoryBytes: 64 * 1024 * 1024, origin, nowMs: NOW_MS, shardCount: 4 });
  const book = new PolicyBook({
    home: 'a',
    region: 'a',
    incarnation: 'a1',
    isNewIncarnation: true,
    hasDisk: false,
    nowMs: NOW_MS,
    skewBoundMs: 2000,
    isAlone: true,
    save: () => {},
  });
  book.define({ name: 'calls', limit: 1, windowMs: 3_600_000, allocator: 'a', shares: [], waitMs: 0 }, NOW_MS);
  const peers = { regions: () => [], originOf: () => undefined, send: () => {} };
  const monotonicMs = () => NOW_MS;
  const keeper = new Keeper({ engine, region: 'a', origin, book, peers, skewBoundMs: 2000, monotonicMs });
  const operations = new Operations({ engine, book, keeper, monotonicMs });
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
  expect(keeper.cellCount).toBeLessThanOrEqual(65_536);
}, 240_000);
