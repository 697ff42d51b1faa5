import { beforeEach, expect, test } from 'vitest';
import { KeptRecords } from '../ledger/kept-records.js';
import { limitOf } from '../policies/override-table.js';
import { type Definition, type Override, type Policy, REPEAT_WINDOW_MS, windowAt } from '../policies/policy.js';
import { type LoneRegion, startLoneRegion } from '../testing/lone-region.js';
import { Leases } from './leases.js';
import { type Refunded, Refunds } from './refunds.js';
import { Reservations } from './reservations.js';

const HOUR_MS = 3_600_000;
const subject = Buffer.from('acme');
let nowMs: number;
let region: LoneRegion;
let refunds: Refunds;
let reservations: Reservations;

beforeEach(() => {
  nowMs = Date.UTC(2026, 5, 1);
  region = startLoneRegion({ nowMs: () => nowMs });
  const { operations, engine } = region;
  let ids = 0;
  const held = { operations, monotonicMs: () => nowMs, newId: () => `id${++ids}`, records: new KeptRecords(engine) };
  reservations = new Reservations(held);
  refunds = new Refunds({ ...region, reservations, leases: new Leases(held) });
});

function define(overrides: readonly Override[], given: Partial<Definition> = {}): Policy {
  const definition = { name: 'calls', limit: 10, windowMs: HOUR_MS, allocator: 'a', shares: [], waitMs: 0 };
  const policy = region.book.define({ ...definition, overrides, ...given }, nowMs);
  region.broker.policiesChanged();
  return policy;
}

function pass(ms: number): void {
  nowMs += ms;
  region.engine.advanceTo(nowMs);
  region.broker.tick();
}

function take(cost: number): boolean {
  let isAllowed = false;
  region.operations.take({ items: [{ name: 'calls', subject, cost }] }, (answer) => {
    isAllowed = 'isAllowed' in answer && answer.isAllowed;
  });
  return isAllowed;
}

function refund(name: string, bytes: Uint8Array, atMost: number): Refunded | undefined {
  let answer: Refunded | undefined;
  refunds.prepare(name, bytes, atMost, (done) => {
    answer = done();
  });
  return answer;
}

function takeAll(): number {
  for (let taken = 0; ; taken++) if (!take(1)) return taken;
}

test('an override that comes in the middle of a window counts what was taken before it', () => {
  define([]);
  expect(take(4)).toBe(true);
  define([{ subject: 'acme', limit: 6 }]);
  expect(takeAll()).toBe(2);
  define([{ subject: 'ac*', limit: 9 }]);
  expect(takeAll()).toBe(3);
  define([]);
  expect(takeAll()).toBe(1);
  define([{ subject: 'acme', limit: 0 }]);
  expect(takeAll()).toBe(0);
  pass(HOUR_MS);
  expect(takeAll()).toBe(0);
});

test('one for the next window changes nothing in this one, and all of it in the next', () => {
  define([{ subject: 'acme', limit: 3 }]);
  define([{ subject: 'acme', limit: 7, fromMs: nowMs + 1 }]);
  expect(takeAll()).toBe(3);
  pass(HOUR_MS);
  expect(takeAll()).toBe(7);
});

test('days of the calendar are quotas as others are, a day of 23 hours too', () => {
  nowMs = Date.parse('2026-03-28T22:59:59Z');
  region = startLoneRegion({ nowMs: () => nowMs });
  define([], { windowMs: 24 * HOUR_MS, calendar: { unit: 'day', timeZone: 'Europe/Berlin', anchorDay: 1 } });
  expect(takeAll()).toBe(10);
  pass(1000);
  expect(takeAll()).toBe(10);
  pass(23 * HOUR_MS - 1);
  expect(takeAll()).toBe(0);
  pass(1);
  expect(takeAll()).toBe(10);
});

test('extra tokens are given out once for an operation, and old entries become one', () => {
  define([]);
  const give = (amount: number, operation?: string) => {
    const policy = region.book.giveExtra('calls', { subject, amount, operation }, nowMs);
    region.broker.policiesChanged();
    return limitOf(policy, subject, windowAt(policy, nowMs));
  };
  const id = 'a'.repeat(64);
  expect(takeAll()).toBe(10);
  expect(give(5, id)).toBe(15);
  const { version } = region.book;
  expect(give(5, id)).toBe(15);
  expect(region.book.version).toBe(version);
  expect(() => give(6, id)).toThrow(/this ID was used for another operation/);
  expect(takeAll()).toBe(5);
  for (let index = 0; index < 5; index++) give(1);
  expect(region.book.named('calls')?.extras?.length).toBe(3);
  expect(takeAll()).toBe(5);
  pass(REPEAT_WINDOW_MS);
  give(1);
  expect(region.book.named('calls')?.extras?.length).toBe(2);
  expect(takeAll()).toBe(1);
  pass(HOUR_MS);
  expect(takeAll()).toBe(10);
  give(1);
  expect(region.book.named('calls')?.extras?.length).toBe(1);
});

test('a refund is of tokens that were spent: not of those reserved, in the balance, or of another window', () => {
  define([]);
  expect(take(3)).toBe(true);
  reservations.reserve({ item: { name: 'calls', subject, cost: 4 }, ttlMs: 60_000 }, () => {});
  expect(refund('calls', subject, 2)).toMatchObject({ refunded: 2 });
  expect(refund('calls', subject, Number.POSITIVE_INFINITY)).toMatchObject({ refunded: 1 });
  expect(refund('calls', subject, 1)).toMatchObject({ refunded: 0 });
  expect(takeAll()).toBe(6);
  pass(HOUR_MS);
  expect(refund('calls', subject, 5)).toMatchObject({ refunded: 0 });
  for (const amount of [0, -1, 1.5, Number.NaN]) expect(refund('calls', subject, amount)).toHaveProperty('error');
});
