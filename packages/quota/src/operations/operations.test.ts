import type { Engine } from '@quotadb/engine';
import { beforeEach, expect, test } from 'vitest';
import { KeptRecords } from '../ledger/kept-records.js';
import { REPEAT_WINDOW_MS } from '../policies/policy.js';
import { startLoneRegion } from '../testing/lone-region.js';
import type { TokenBrokerOptions } from '../tokens/broker-options.js';
import type { TokenBroker } from '../tokens/token-broker.js';
import type { Operations } from './operations.js';
import { Repeats } from './repeats.js';
import {
  type Lapse,
  MAXIMUM_RESERVATIONS,
  MAXIMUM_SETTLED,
  Reservations,
  type Reserved,
  type Settlement,
} from './reservations.js';
import type { TakeAnswer } from './take-request.js';

const START_MS = Date.UTC(2026, 5, 1);
let nowMs: number;
let engine: Engine;
let operations: Operations;
let reservations: Reservations;
let broker: TokenBroker;

beforeEach(() => begin());

function begin(disk: Pick<TokenBrokerOptions, 'durable'> = {}): void {
  nowMs = START_MS;
  const monotonicMs = () => nowMs;
  const region = startLoneRegion({ nowMs: monotonicMs, ...disk });
  ({ engine, broker, operations } = region);
  for (const name of ['calls', 'other'])
    region.book.define({ name, limit: 10, windowMs: 3_600_000, allocator: 'a', shares: [], waitMs: 0 }, nowMs);
  let ids = 0;
  reservations = new Reservations({ operations, monotonicMs, newId: () => `r${++ids}` });
}

const subject = Uint8Array.of(1);

function take(...items: readonly (readonly [name: string, cost: number])[]): TakeAnswer {
  const answers: TakeAnswer[] = [];
  operations.take({ items: items.map(([name, cost]) => ({ name, subject, cost })) }, (answer) => answers.push(answer));
  // Alone and without a disk nothing waits.
  expect(answers).toHaveLength(1);
  return answers[0];
}

function isAllowed(...items: readonly (readonly [name: string, cost: number])[]): boolean {
  const answer = take(...items);
  return 'isAllowed' in answer && answer.isAllowed;
}

function reserve(cost: number, ttlMs: number, lapse?: Lapse): string {
  const reserved: Reserved[] = [];
  const item = { name: 'calls', subject, cost };
  reservations.reserve({ item, ttlMs, lapse }, (answer) => reserved.push(answer));
  return 'id' in reserved[0] ? reserved[0].id : '';
}

function commit(id: string, actual: number): Settlement {
  const settlements: Settlement[] = [];
  reservations.commit(id, actual, (settlement) => settlements.push(settlement));
  return settlements[0];
}

test('of several limits all are taken from or none', () => {
  expect(isAllowed(['calls', 6], ['other', 10])).toBe(true);
  expect(isAllowed(['calls', 1], ['other', 1])).toBe(false);
  expect(isAllowed(['calls', 4])).toBe(true);
  expect(isAllowed(['calls', 1])).toBe(false);
});

test('tokens are conserved by reservations, however they end', () => {
  const settled = reserve(4, 1000);
  const cancelled = reserve(3, 1000);
  const forgotten = reserve(3, 1000);
  expect(isAllowed(['calls', 1])).toBe(false);
  expect([...reservations.outstanding().values()]).toEqual([10]);
  expect(commit(settled, 2)).toEqual({ charged: 2, uncharged: 0 });
  expect(reservations.cancel(cancelled)).toBe(true);
  nowMs += 1200;
  reservations.tick();
  expect(commit(forgotten, 3)).toHaveProperty('error');
  expect(reservations.cancel(forgotten)).toBe(false);
  expect([...reservations.outstanding().values()]).toEqual([]);
  // Two were used in the end.
  expect(isAllowed(['calls', 8])).toBe(true);
  expect(isAllowed(['calls', 1])).toBe(false);
});

test('a settlement that is asked for again is the same, and nothing goes back twice', () => {
  const id = reserve(8, 1000);
  for (let again = 0; again < 3; again++) expect(commit(id, 3)).toEqual({ charged: 3, uncharged: 0 });
  expect(commit(id, 0)).toHaveProperty('error');
  nowMs += 5000;
  reservations.tick();
  expect(commit(id, 3)).toEqual({ charged: 3, uncharged: 0 });
  expect(isAllowed(['calls', 8])).toBe(false);
  expect(isAllowed(['calls', 7])).toBe(true);
});

test('what lapses as charged is never given out again, and what was not used of it can be given back before', () => {
  const forgotten = reserve(4, 1000, 'charge');
  const settled = reserve(6, 1000, 'charge');
  expect(commit(settled, 1)).toEqual({ charged: 1, uncharged: 0 });
  nowMs += 1200;
  reservations.tick();
  expect([...reservations.outstanding().values()]).toEqual([]);
  expect(commit(forgotten, 1)).toHaveProperty('error');
  expect(isAllowed(['calls', 6])).toBe(false);
  expect(isAllowed(['calls', 5])).toBe(true);
});

test('however many were settled, there is room for the next, and the oldest settlements are forgotten first', () => {
  const first = reserve(1, 3_600_000);
  expect(commit(first, 0)).toEqual({ charged: 0, uncharged: 0 });
  let last = '';
  for (let count = 0; count < Math.max(MAXIMUM_RESERVATIONS, MAXIMUM_SETTLED); count++) {
    last = reserve(1, 3_600_000);
    reservations.cancel(last);
  }
  expect(last).not.toBe('');
  expect(commit(last, 0)).toEqual({ charged: 0, uncharged: 0 });
  expect(commit(first, 0)).toHaveProperty('error');
  expect(isAllowed(['calls', 10])).toBe(true);
});

test('what cost more than was reserved is charged as far as the limit has it', () => {
  const id = reserve(2, 1000);
  expect(isAllowed(['calls', 5])).toBe(true);
  expect(commit(id, 6)).toEqual({ charged: 5, uncharged: 1 });
  expect(isAllowed(['calls', 1])).toBe(false);
});

function repeatsOf(isDone: (answer: number) => boolean): Repeats<number> {
  return new Repeats({ monotonicMs: () => nowMs, nowMs: () => engine.nowMs, isDone, records: new KeptRecords(engine) });
}

test('an id is known to the process after this one, and other arguments are another operation', () => {
  const work = (done: (answer: number) => void) => done(1);
  const heard: number[] = [];
  const run = (payload: string) =>
    repeatsOf(() => true).run({ id: 'id', payload, work, again: () => 2 }, (answer) => heard.push(answer));
  expect([run('x'), run('x'), run('y')]).toEqual([true, true, false]);
  expect(heard).toEqual([1, 2]);
});

test('an operation that is repeated is done once, and forgotten after its time', () => {
  const repeats = repeatsOf((answer) => answer > 0);
  let runs = 0;
  const heard: number[] = [];
  const run = (payload: string, result: number) =>
    repeats.run(
      {
        id: 'id',
        payload,
        work: (done) => {
          runs++;
          done(result);
        },
        again: () => -1,
      },
      (answer) => heard.push(answer),
    );
  // What was not done may be tried again.
  expect(run('x', 0)).toBe(true);
  expect(run('x', 1)).toBe(true);
  expect(run('x', 2)).toBe(true);
  expect(run('y', 3)).toBe(false);
  expect([heard, runs]).toEqual([[0, 1, 1], 2]);
  nowMs += REPEAT_WINDOW_MS + 1;
  engine.advanceTo(nowMs);
  expect(run('y', 3)).toBe(true);
  expect(heard.at(-1)).toBe(3);
});

test('who repeats an operation that is still under way hears the same answer', () => {
  const repeats = repeatsOf(() => true);
  const heard: number[] = [];
  const started: ((answer: number) => void)[] = [];
  const run = () =>
    repeats.run({ id: 'id', payload: 'x', work: (done) => started.push(done), again: () => -1 }, (answer) =>
      heard.push(answer),
    );
  run();
  run();
  expect(started).toHaveLength(1);
  started[0](7);
  expect(heard).toEqual([7, 7]);
});

test('the same subject twice in one request is refused, and does not go round in circles', () => {
  expect(take(['calls', 6], ['calls', 6])).toEqual({ error: expect.stringContaining('there twice') });
  expect(isAllowed(['calls', 10])).toBe(true);
});

test('a disk that takes nothing denies in the end, and nobody waits for ever', () => {
  begin({ durable: () => 0 });
  const answers: TakeAnswer[] = [];
  operations.take({ items: [{ name: 'calls', subject, cost: 1 }] }, (answer) => answers.push(answer));
  expect(answers).toEqual([]);
  nowMs += 2500;
  broker.tick();
  expect(answers).toMatchObject([{ isAllowed: false }]);
});
