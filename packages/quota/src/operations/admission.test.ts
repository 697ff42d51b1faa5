import { beforeEach, expect, test } from 'vitest';
import { type Definition, windowAt } from '../policies/policy.js';
import { type LoneRegion, startLoneRegion } from '../testing/lone-region.js';

const HOUR_MS = 3_600_000;
const subject = Uint8Array.of(1);
const CALLS: Definition = {
  name: 'calls',
  limit: 100,
  windowMs: HOUR_MS,
  allocator: 'b',
  shares: [],
  waitMs: 0,
  admitFraction: 0.1,
};
let nowMs: number;
let region: LoneRegion;

beforeEach(() => {
  nowMs = Date.UTC(2026, 5, 1);
  region = startLoneRegion({ nowMs: () => nowMs });
});

function pass(ms: number): void {
  nowMs += ms;
  region.engine.advanceTo(nowMs);
  region.broker.tick();
}

function takeAll(cost = 1): number {
  for (let taken = 0; ; taken += cost) {
    let isAllowed = false;
    region.operations.take({ items: [{ name: 'calls', subject, cost }] }, (answer) => {
      isAllowed = 'isAllowed' in answer && answer.isAllowed;
    });
    if (!isAllowed) return taken;
  }
}

test('a region that cannot reach the allocator admits its part of the limit in a window, and no more', () => {
  const policy = region.book.define(CALLS, nowMs);
  // In the window that it began in, an earlier incarnation may have admitted it.
  expect(takeAll()).toBe(0);
  pass(HOUR_MS);
  expect(takeAll(3)).toBe(9);
  pass(1000);
  expect(takeAll()).toBe(1);
  const allotment = { policy: policy.number, window: windowAt(policy, nowMs), subject };
  expect(region.broker.ledger.admitted(policy, allotment)).toEqual({ own: 10, everywhere: 10 });
  pass(HOUR_MS);
  expect(takeAll()).toBe(10);
});

test('one that can reach it admits nothing, and neither does the allocator itself', () => {
  region.book.define({ ...CALLS, allocator: 'a' }, nowMs);
  expect(takeAll()).toBe(100);
  pass(HOUR_MS);
  expect(takeAll()).toBe(100);
});

test('a subject with a limit of its own has that part of it', () => {
  region.book.define({ ...CALLS, overrides: [{ subject: '\u0001', limit: 50 }] }, nowMs);
  pass(HOUR_MS);
  expect(takeAll()).toBe(5);
});

test('where a policy admits nothing any more, only what was admitted before is spent', () => {
  region.book.define(CALLS, nowMs);
  pass(HOUR_MS);
  region.operations.take({ items: [{ name: 'calls', subject, cost: 1 }] }, () => {});
  const { admitFraction: _, ...strict } = CALLS;
  region.book.define(strict, nowMs);
  region.broker.policiesChanged();
  pass(1000);
  // An eighth of what it could have admitted was set aside with the first take.
  expect(takeAll()).toBe(1);
});
