import { type Engine, OWN_ORIGIN } from '@quotadb/engine';
import { beforeEach, expect, test } from 'vitest';
import { type Acquired, Leases, type Renewed } from '../operations/leases.js';
import type { Operations } from '../operations/operations.js';
import { type Lapse, Reservations, type Reserved, type Settlement } from '../operations/reservations.js';
import type { TakeAnswer } from '../operations/take-request.js';
import { startLoneRegion } from '../testing/lone-region.js';
import type { TokenBroker } from '../tokens/token-broker.js';
import { KeptRecords } from './kept-records.js';

/**
 * One engine is the disk: what a process kept is in it, and the process after it finds it there. Its local balances are
 * there too, which a real restart would lose; tests that need them gone take them.
 */
const LIMIT = 10;
const LEASE_MS = 10_000;
const subject = Uint8Array.of(1);
let nowMs: number;
let engine: Engine;
let operations: Operations;
let broker: TokenBroker;
let isDiskStuck: boolean;
/** Up to here everything is on disk, by shard. */
let durable: number[];
let reservations: Reservations;
let leases: Leases;
let ids: number;

beforeEach(() => {
  nowMs = Date.UTC(2026, 5, 1);
  ids = 0;
  isDiskStuck = false;
  durable = [];
  const region = startLoneRegion({
    nowMs: () => nowMs,
    durable: (shard) => (isDiskStuck ? (durable[shard] ?? 0) : engine.seen(shard, OWN_ORIGIN)),
  });
  ({ engine, operations, broker } = region);
  const common = { allocator: 'a', shares: [], waitMs: 0 };
  region.book.define({ name: 'calls', limit: LIMIT, windowMs: 3_600_000, ...common }, nowMs);
  region.book.define({ name: 'jobs', limit: 1, windowMs: 0, leaseMs: LEASE_MS, ...common }, nowMs);
  restart();
});

function restart(): void {
  const records = new KeptRecords(engine);
  const options = { operations, monotonicMs: () => nowMs, newId: () => `id${++ids}`, records };
  reservations = new Reservations(options);
  leases = new Leases(options);
  reservations.restore();
  leases.restore();
}

/** From now on nothing reaches the disk. */
function stickDisk(): void {
  durable = Array.from({ length: engine.shardCount }, (_, shard) => engine.seen(shard, OWN_ORIGIN));
  isDiskStuck = true;
}

function pass(milliseconds: number): void {
  nowMs += milliseconds;
  engine.advanceTo(nowMs);
  reservations.tick();
  leases.tick();
  broker.tick();
}

function hear<Answer>(ask: (done: (answer: Answer) => void) => void): Answer | undefined {
  const heard: Answer[] = [];
  ask((answer) => heard.push(answer));
  broker.tick();
  return heard[0];
}

function reserve(cost: number, ttlMs: number, lapse?: Lapse): string {
  const request = { item: { name: 'calls', subject, cost }, ttlMs, lapse };
  const reserved = hear<Reserved>((done) => reservations.reserve(request, done));
  return reserved !== undefined && 'id' in reserved ? reserved.id : '';
}

function isAllowed(cost: number): boolean {
  const answer = hear<TakeAnswer>((done) => operations.take({ items: [{ name: 'calls', subject, cost }] }, done));
  return answer !== undefined && 'isAllowed' in answer && answer.isAllowed;
}

const commit = (id: string, actual: number) => hear<Settlement>((done) => reservations.commit(id, actual, done));
const acquire = (ttlMs: number, operation?: string) =>
  hear<Acquired>((done) => leases.acquire({ name: 'jobs', subject, ttlMs, waitMs: 0, operation }, done));
const renew = (id: string, ttlMs: number) => hear<Renewed>((done) => leases.renew(id, ttlMs, 0, done));

test('a reservation outlives its process: it can be settled, and settled again', () => {
  const id = reserve(6, 60_000);
  restart();
  expect(commit(id, 2)).toEqual({ charged: 2, uncharged: 0 });
  restart();
  expect(commit(id, 2)).toEqual({ charged: 2, uncharged: 0 });
  expect(commit(id, 3)).toHaveProperty('error');
  expect(reservations.cancel(id)).toBe(false);
  expect([isAllowed(9), isAllowed(8)]).toEqual([false, true]);
});

test('one that is due while its process is down lapses with the next, once', () => {
  reserve(6, 1000);
  nowMs += 5000;
  engine.advanceTo(nowMs);
  restart();
  pass(300);
  restart();
  pass(300);
  expect([isAllowed(11), isAllowed(10), isAllowed(1)]).toEqual([false, true, false]);
});

test('tokens come back when the disk holds the end of the reservation, and not before', () => {
  const id = reserve(10, 60_000);
  stickDisk();
  expect(reservations.cancel(id)).toBe(true);
  expect(isAllowed(1)).toBe(false);
  isDiskStuck = false;
  broker.tick();
  // The first caller has waited for them.
  expect([isAllowed(10), isAllowed(9)]).toEqual([false, true]);
});

test('a commit is answered when the disk holds it: what it charged must not come back after a crash', () => {
  const id = reserve(10, 60_000);
  stickDisk();
  expect(commit(id, 10)).toBeUndefined();
  expect(commit(id, 10)).toBeUndefined();
  isDiskStuck = false;
  expect(commit(id, 10)).toEqual({ charged: 10, uncharged: 0 });
});

test('a caller waits for tokens that are on their way back', () => {
  const id = reserve(10, 60_000);
  stickDisk();
  reservations.cancel(id);
  const heard: TakeAnswer[] = [];
  operations.take({ items: [{ name: 'calls', subject, cost: 1 }], waitMs: 0 }, (answer) => heard.push(answer));
  expect(heard).toEqual([]);
  isDiskStuck = false;
  broker.tick();
  expect(heard).toMatchObject([{ isAllowed: true }]);
});

test('a lease outlives its process, with the end that it was renewed to', () => {
  const lease = acquire(1000, 'operation');
  const { id } = lease as { id: string };
  expect(renew(id, 8000)).toMatchObject({ isRenewed: true, ttlMs: 8000 });
  pass(2000);
  restart();
  expect(leases.ofOperation('operation')).toBe(id);
  expect(leases.has(id)).toBe(true);
  expect(acquire(1000)).toMatchObject({ isAllowed: false });
  expect(renew(id, 9000)).toMatchObject({ isRenewed: true, ttlMs: 9000 });
  restart();
  expect(leases.release(id)).toBe(true);
  expect(acquire(1000)).toMatchObject({ isAllowed: true });
});

test('a lease that ended while its process was down gives its tokens back', () => {
  acquire(1000);
  nowMs += 1500;
  engine.advanceTo(nowMs);
  restart();
  pass(300);
  expect(acquire(1000)).toMatchObject({ isAllowed: true });
});

test('a renewal is answered when the disk holds it', () => {
  const { id } = acquire(1000) as { id: string };
  stickDisk();
  expect(renew(id, 5000)).toBeUndefined();
});

test('what was settled or released leaves nothing behind', () => {
  for (let round = 0; round < 50; round++) {
    reservations.cancel(reserve(1, 60_000));
    const { id } = acquire(1000) as { id: string };
    leases.release(id);
    pass(1000);
  }
  pass(700_000);
  engine.expireSome(100_000);
  restart();
  expect(new KeptRecords(engine).own(0x72)).toEqual([]);
  expect(new KeptRecords(engine).own(0x6c)).toEqual([]);
});
