import type { Engine } from '@quotadb/engine';
import { beforeEach, expect, test } from 'vitest';
import type { PolicyBook } from '../home/policy-book.js';
import { windowAt } from '../policies/policy.js';
import { SKEW_BOUND_MS, startLoneRegion } from '../testing/lone-region.js';
import { type Acquired, Leases, type Renewed } from './leases.js';
import type { Operations } from './operations.js';
import type { TakeAnswer } from './take-request.js';

const LEASE_MS = 8000;
const WINDOW_MS = LEASE_MS + SKEW_BOUND_MS;
/** The beginning of a window. */
const START_MS = Math.ceil(Date.UTC(2026, 5, 1) / WINDOW_MS) * WINDOW_MS;
const subject = Uint8Array.of(1);
let nowMs: number;
let engine: Engine;
let book: PolicyBook;
let operations: Operations;
let leases: Leases;

beforeEach(() => {
  nowMs = START_MS;
  begin('a1');
  book.define({ name: 'jobs', limit: 2, windowMs: 0, leaseMs: LEASE_MS, allocator: 'a', shares: [], waitMs: 0 }, nowMs);
  book.define({ name: 'calls', limit: 2, windowMs: 60_000, allocator: 'a', shares: [], waitMs: 0 }, nowMs);
});

/** A life of a region without a disk, alone. */
function begin(incarnation: string): void {
  const monotonicMs = () => nowMs;
  const set = book?.set;
  ({ engine, book, operations } = startLoneRegion({ nowMs: monotonicMs, incarnation }));
  if (incarnation !== 'a1' && set !== undefined) book.adopt(set, nowMs);
  let ids = 0;
  leases = new Leases({ operations, monotonicMs, newId: () => `${incarnation}-${++ids}` });
}

function pass(milliseconds: number): void {
  nowMs += milliseconds;
  engine.advanceTo(nowMs);
  leases.tick();
}

function acquire(ttlMs: number, name = 'jobs'): Acquired {
  const heard: Acquired[] = [];
  leases.acquire({ name, subject, ttlMs, waitMs: undefined }, (acquired) => heard.push(acquired));
  expect(heard).toHaveLength(1);
  return heard[0];
}

/** The id, or nothing where it was denied. */
function idOf(acquired: Acquired): string {
  return 'id' in acquired ? acquired.id : expect.unreachable(acquired.error);
}

function renew(id: string, ttlMs: number): Renewed {
  const heard: Renewed[] = [];
  leases.renew(id, ttlMs, undefined, (renewed) => heard.push(renewed));
  expect(heard).toHaveLength(1);
  return heard[0];
}

test('no more leases than the limit are held at once, and what is released can be had again', () => {
  const first = idOf(acquire(LEASE_MS));
  expect(idOf(acquire(LEASE_MS))).not.toBe('');
  expect(acquire(LEASE_MS)).toMatchObject({ isAllowed: false, id: '', standing: { remainingHere: 0, resetMs: -1 } });
  expect(leases.release(first)).toBe(true);
  expect(leases.release(first)).toBe(false);
  expect(idOf(acquire(LEASE_MS))).not.toBe('');
  expect(idOf(acquire(LEASE_MS))).toBe('');
});

test('the lease of a dead client ends with its TTL and not before', () => {
  acquire(5000);
  acquire(LEASE_MS);
  pass(4999);
  expect(idOf(acquire(1000))).toBe('');
  pass(300);
  expect(idOf(acquire(1000))).not.toBe('');
  expect(idOf(acquire(1000))).toBe('');
});

test('a lease that reaches into the next window counts there, also while clocks differ', () => {
  pass(WINDOW_MS - 1000);
  // Ends in this window, but not by every clock within the bound.
  acquire(500);
  acquire(3000);
  expect(leases.outstanding().size).toBe(2);
  expect([...leases.outstanding().values()]).toEqual([2, 2]);
  pass(1100);
  expect(windowAt(book.list()[0], engine.nowMs)).toBe(START_MS / WINDOW_MS + 1);
  expect(idOf(acquire(1000))).not.toBe('');
  expect(idOf(acquire(1000))).toBe('');
});

test('renewed again and again a lease holds for ever, and never takes a place from itself', () => {
  const kept = idOf(acquire(LEASE_MS));
  const other = idOf(acquire(LEASE_MS));
  for (let turn = 0; turn < 40; turn++) {
    pass(2500);
    expect(renew(kept, LEASE_MS)).toEqual({ isRenewed: true, ttlMs: LEASE_MS, retryAfterMs: 0 });
    expect(renew(other, LEASE_MS)).toMatchObject({ isRenewed: true });
    expect(idOf(acquire(1))).toBe('');
    for (const amount of leases.outstanding().values()) expect(amount).toBeLessThanOrEqual(2);
    // Of windows that are over nothing is remembered.
    expect(leases.outstanding().size).toBeLessThanOrEqual(3);
  }
  leases.release(kept);
  expect(idOf(acquire(1000))).not.toBe('');
});

test('renewing can shorten a lease', () => {
  const id = idOf(acquire(LEASE_MS));
  acquire(LEASE_MS);
  expect(renew(id, 1000)).toMatchObject({ isRenewed: true, ttlMs: 1000 });
  pass(1300);
  expect(renew(id, 1000)).toHaveProperty('error');
  expect(idOf(acquire(1000))).not.toBe('');
});

test('a lease that is shortened does not end sooner before its holder has the answer', () => {
  const id = idOf(acquire(LEASE_MS));
  acquire(LEASE_MS);
  // A disk that does not hold the renewal yet.
  let answer = () => {};
  operations.whenDurable = (_, done) => {
    answer = done;
  };
  const heard: Renewed[] = [];
  leases.renew(id, 1000, undefined, (renewed) => heard.push(renewed));
  pass(1300);
  expect(idOf(acquire(1000))).toBe('');
  answer();
  expect(heard).toMatchObject([{ isRenewed: true, ttlMs: 0 }]);
  pass(1300);
  expect(idOf(acquire(1000))).not.toBe('');
});

test('a lease that cannot be renewed ends when it would have', () => {
  const id = idOf(acquire(5000));
  pass(1000);
  // Nothing is left of windows that no client has taken from yet.
  book.define({ name: 'jobs', limit: 0, windowMs: 0, leaseMs: LEASE_MS, allocator: 'a', shares: [], waitMs: 0 }, nowMs);
  expect(renew(id, LEASE_MS)).toEqual({ isRenewed: false, ttlMs: 4000, retryAfterMs: expect.any(Number) });
  // Leases within the window that it holds can be had.
  expect(renew(id, 6000)).toMatchObject({ isRenewed: true, ttlMs: 6000 });
  pass(6300);
  expect(renew(id, 1)).toHaveProperty('error');
});

test('a life that lost its memory gives nothing in windows that a lease of the last one can reach into', () => {
  pass(WINDOW_MS - 100);
  acquire(LEASE_MS);
  acquire(LEASE_MS);
  const endMs = nowMs + LEASE_MS;
  begin('a2');
  let hasBegun = false;
  for (let turn = 0; turn < 60 && !hasBegun; turn++) {
    hasBegun = idOf(acquire(1000)) !== '';
    if (hasBegun) expect(nowMs).toBeGreaterThan(endMs);
    else pass(1000);
  }
  expect(hasBegun).toBe(true);
});

test('a quota is for leases or for takes, and says so', () => {
  expect(acquire(1000, 'calls')).toEqual({ error: expect.stringContaining('defined with LEASE') });
  expect(acquire(1000, 'nobody')).toEqual({ error: expect.stringContaining('there is no quota') });
  expect(acquire(LEASE_MS + 1)).toEqual({ error: expect.stringContaining(`holds for 1 to ${LEASE_MS}`) });
  const heard: TakeAnswer[] = [];
  operations.take({ items: [{ name: 'jobs', subject, cost: 1 }] }, (answer) => heard.push(answer));
  expect(heard).toEqual([{ error: expect.stringContaining('QUOTA.ACQUIRE') }]);
});

test('a lease of a quota that was dropped and defined in another way is not renewed with the new one', () => {
  const id = idOf(acquire(1000));
  book.drop('jobs', nowMs);
  book.define(
    { name: 'jobs', limit: 1, windowMs: 0, leaseMs: LEASE_MS + 1, allocator: 'a', shares: [], waitMs: 0 },
    nowMs + 1000,
  );
  expect(renew(id, LEASE_MS)).toEqual({ error: expect.stringContaining('defined anew') });
});

test('how long leases hold cannot be changed', () => {
  const define = (given: { windowMs: number; leaseMs?: number }) =>
    book.define({ name: 'jobs', limit: 3, allocator: 'a', shares: [], waitMs: 0, ...given }, nowMs);
  expect(() => define({ windowMs: 0, leaseMs: 1000 })).toThrow(/the lease of a policy cannot be changed/);
  expect(() => define({ windowMs: WINDOW_MS })).toThrow(/the lease of a policy cannot be changed/);
  expect(define({ windowMs: 0, leaseMs: LEASE_MS })).toMatchObject({ limit: 3, windowMs: WINDOW_MS });
});
