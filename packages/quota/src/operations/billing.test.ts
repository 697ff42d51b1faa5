import { ByteInput, OWN_ORIGIN, RESERVED_PREFIX } from '@quotadb/engine';
import { beforeEach, expect, test } from 'vitest';
import { KeptKind, KeptRecords } from '../ledger/kept-records.js';
import { type LoneRegion, startLoneRegion } from '../testing/lone-region.js';
import type { UsageRecorder } from '../tokens/usage-recorder.js';
import { Reservations, type Reserved } from './reservations.js';

const LIMIT = 100;
const subject = Uint8Array.of(1);
const item = { name: 'calls', subject, cost: 10 };
let nowMs: number;
let region: LoneRegion;
let reservations: Reservations;
let records: KeptRecords;
/** Changes of usage and of records, and how many transactions had ended before each. */
let changes: { readonly what: 'usage' | 'record'; readonly transactions: number }[];
let billed: number;

/** Usage as a counter in the store, and a note of each change. */
function recorder(): UsageRecorder {
  const key = ByteInput.copyOf(Uint8Array.of(...RESERVED_PREFIX, 0x75));
  const add = (amount: number) => {
    const { engine } = region;
    engine.openAny(key, 0, RESERVED_PREFIX.length + 1);
    engine.add(amount < 0 ? -1 : 0, amount);
    engine.close();
    billed += amount;
    changes.push({ what: 'usage', transactions: engine.transactions });
    return true;
  };
  return {
    taken: (_policy, _window, _subject, _start, _length, amount) => add(amount),
    returned: (_policy, _allotment, amount) => void add(-amount),
    admitted: (_window, amount) => add(amount),
    withdrawn: (_window, amount) => void add(-amount),
  };
}

/** Records that note each change. */
class NotedRecords extends KeptRecords {
  override set(...given: Parameters<KeptRecords['set']>) {
    changes.push({ what: 'record', transactions: region.engine.transactions });
    return super.set(...given);
  }
  override remove(...given: Parameters<KeptRecords['remove']>) {
    changes.push({ what: 'record', transactions: region.engine.transactions });
    return super.remove(...given);
  }
}

beforeEach(() => {
  nowMs = Date.UTC(2026, 5, 1);
  changes = [];
  billed = 0;
  region = startLoneRegion({
    nowMs: () => nowMs,
    durable: (shard) => region.engine.seen(shard, OWN_ORIGIN),
  });
  const { operations, book, engine } = region;
  // There is a disk that has to learn of removals.
  for (let shard = 0; shard < engine.shardCount; shard++) engine.acknowledge(shard, 0);
  operations.taker.usage = recorder();
  book.define({ name: 'calls', limit: LIMIT, windowMs: 3_600_000, allocator: 'a', shares: [], waitMs: 0 }, nowMs);
  records = new NotedRecords(engine);
  let ids = 0;
  reservations = new Reservations({ operations, monotonicMs: () => nowMs, newId: () => `id${++ids}`, records });
});

function reserve(): string {
  const answers: Reserved[] = [];
  reservations.reserve({ item, ttlMs: 60_000 }, (answer) => answers.push(answer));
  region.broker.tick();
  return (answers[0] as { readonly id: string }).id;
}

/** Whether the last record and the last change of usage are changes of one transaction, and how much was billed. */
function oneTransaction(work: () => void): number {
  const { engine, broker } = region;
  const before = engine.transactions;
  changes = [];
  billed = 0;
  work();
  broker.tick();
  const last = (what: string) => changes.filter((change) => change.what === what).at(-1)?.transactions;
  expect([last('usage'), last('record'), engine.transactions]).toEqual([before, before, before + 1]);
  return billed;
}

test('a reservation, its settlement, its end and the usage that each changes are on disk together', () => {
  expect(oneTransaction(() => reserve())).toBe(10);
  const less = reserve();
  expect(oneTransaction(() => reservations.commit(less, 4, () => undefined))).toBe(-6);
  const more = reserve();
  expect(oneTransaction(() => reservations.commit(more, 15, () => undefined))).toBe(5);
  const cancelled = reserve();
  expect(oneTransaction(() => reservations.cancel(cancelled))).toBe(-10);
});

test('a settlement beyond the limit is billed as it was charged, together with what the disk says of it', () => {
  const beyond = reserve();
  let charged = 0;
  const used = oneTransaction(() =>
    reservations.commit(beyond, LIMIT + 50, (settlement) => {
      charged = (settlement as { readonly charged: number }).charged;
    }),
  );
  expect(used).toBe(charged - item.cost);
});

test('a reservation that lapses and the tokens that come back are on disk together', () => {
  reserve();
  nowMs += 70_000;
  region.engine.advanceTo(nowMs);
  expect(oneTransaction(() => reservations.tick())).toBe(-10);
});

test('a take and the record that its caller makes of it are on disk together', () => {
  const record = () => void records.set(KeptKind.operation, Uint8Array.of(7), { added: 1, taken: 0 }, nowMs + 1_000);
  expect(oneTransaction(() => region.operations.take({ items: [item], isRecorded: true }, record))).toBe(10);
});

test('without the billing of usage nothing of it is a transaction', () => {
  region.operations.taker.usage = undefined;
  const before = region.engine.transactions;
  reservations.commit(reserve(), 4, () => undefined);
  expect(region.engine.transactions).toBe(before);
});
