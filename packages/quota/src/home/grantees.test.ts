import { Engine } from '@quotadb/engine';
import { expect, test } from 'vitest';
import { Ledger } from '../ledger/ledger.js';
import { type Policy, windowAt } from '../policies/policy.js';
import type { SavedBook } from './book-options.js';
import { Grantees, MAXIMUM_GRANTEES, type SavedGrantees } from './grantees.js';
import { PolicyBook } from './policy-book.js';

const NOW_MS = Date.UTC(2026, 5, 1);
const HOUR_MS = 3_600_000;
const SKEW_BOUND_MS = 2000;

function origin(number: number): Uint8Array {
  const bytes = new Uint8Array(32);
  new DataView(bytes.buffer).setUint32(0, number);
  return bytes;
}

test('who was granted something is remembered until it is over, in this run and in the next', () => {
  let saved: SavedGrantees | undefined;
  const open = () => new Grantees(saved, (given) => (saved = JSON.parse(JSON.stringify(given)) as SavedGrantees));
  open().note(origin(1), NOW_MS + 1000, NOW_MS);
  open().note(origin(2), Number.POSITIVE_INFINITY, NOW_MS);
  open().note(origin(3), NOW_MS + HOUR_MS, NOW_MS);
  expect(open().all()).toEqual([origin(1), origin(2), origin(3)]);
  open().note(origin(4), NOW_MS + 2 * HOUR_MS, NOW_MS + HOUR_MS + 1000);
  expect(open().all()).toEqual([origin(2), origin(3), origin(4)]);
  open().note(origin(5), NOW_MS + 900 * HOUR_MS, NOW_MS + 800 * HOUR_MS);
  expect(open().all()).toEqual([origin(2), origin(5)]);
});

test('a region that restarts again and again does not make the list long, and windowless grants have a bound', () => {
  let writes = 0;
  const grantees = new Grantees(undefined, () => writes++);
  for (let life = 0; life < 5000; life++) {
    const nowMs = NOW_MS + life * 60_000;
    expect(grantees.note(origin(life), nowMs + 60_000, nowMs)).toBe(true);
    expect(grantees.note(origin(life), nowMs + 60_000, nowMs)).toBe(true);
  }
  expect(grantees.all().length).toBeLessThan(70);
  expect(writes).toBe(5000);
  let noted = 0;
  for (let life = 0; life < 5000; life++)
    if (grantees.note(origin(10_000 + life), Number.POSITIVE_INFINITY, NOW_MS + 900 * HOUR_MS)) noted++;
  expect(noted).toBe(MAXIMUM_GRANTEES);
  expect(grantees.all()).toHaveLength(MAXIMUM_GRANTEES);
});

/** A life of an allocator with a disk, at a time of its clock. */
function begin(nowMs: number, saved: SavedBook | undefined, save: (book: SavedBook) => void) {
  const engine = Engine.format({ maxMemoryBytes: 4 * 1024 * 1024, origin: origin(9), nowMs, shardCount: 4 });
  const book = new PolicyBook({
    home: 'a',
    region: 'a',
    incarnation: 'a1',
    isNewIncarnation: saved === undefined,
    hasDisk: true,
    nowMs,
    skewBoundMs: SKEW_BOUND_MS,
    isAlone: true,
    ...(saved && { saved }),
    save,
  });
  return { engine, book, ledger: new Ledger({ engine, region: 'a', book, skewBoundMs: SKEW_BOUND_MS }) };
}

test('a clock that is set back does not bring back a window whose grants are forgotten', () => {
  let saved: SavedBook | undefined;
  const save = (book: SavedBook) => {
    saved = book;
  };
  const first = begin(NOW_MS, undefined, save);
  const definition = { name: 'calls', limit: 10, windowMs: 60_000, allocator: 'a', shares: [], waitMs: 0 };
  const policy: Policy = first.book.define(definition, NOW_MS);
  const allotmentAt = (nowMs: number) => ({
    policy: policy.number,
    window: windowAt(policy, nowMs),
    subject: Uint8Array.of(1),
  });
  first.ledger.grant(policy, allotmentAt(NOW_MS), origin(1), 10);
  // Its window is over long since when another region is granted something.
  const laterMs = NOW_MS + 3 * HOUR_MS;
  first.engine.advanceTo(laterMs);
  first.ledger.grant(policy, allotmentAt(laterMs), origin(2), 1);
  expect(first.book.grantees.all()).toEqual([origin(2)]);
  const second = begin(NOW_MS, saved, save);
  expect(second.ledger.rights(policy, allotmentAt(NOW_MS))).toBe(0);
});
