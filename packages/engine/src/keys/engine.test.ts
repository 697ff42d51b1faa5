import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { INT64_MAX, INT64_MIN } from '../memory/int64.js';
import { checkConsistency } from '../testing/check-consistency.js';
import { PlainModel } from '../testing/plain-model.js';
import { add, assign, expireAt, persist, read, remove, scanAll } from '../testing/single-key.js';
import { Engine } from './engine.js';
import { Status } from './status.js';

const START_MS = Date.UTC(2026, 0, 1);
const MEMORY_BYTES = 8 * 1024 * 1024;
const GROW_ONLY = ['total:'];
const ORIGIN = new Uint8Array(32).fill(7);

/** Keys are Latin-1 text here, one character a byte, so that a Map can hold them and any byte can occur. */
const KEYS = [
  '',
  'a',
  'ab',
  'abc',
  'abcd',
  'abcde',
  '\0',
  '\0\0\0\0',
  '\xff\xfe\x00\x01\r\n',
  'total:visits',
  'total:',
  'total',
  ...Array.from({ length: 24 }, (_, index) => `user:${index}`),
  // With a beginning that is soon a stem of its shard, and at the edges of one.
  ...Array.from({ length: 24 }, (_, index) => `api:tenants/${'x'.repeat(index & 3)}:${index}`),
  'api:tenants/:',
  'api:tenants/',
  'x'.repeat(64),
  'y'.repeat(4000),
  'z'.repeat(65535),
  'z'.repeat(65536),
  'z'.repeat(65537),
];

function encode(key: string): Uint8Array {
  return Uint8Array.from(Buffer.from(key, 'latin1'));
}

const keys = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom('', 'abcde', 'total:visits', 'user:0', 'api:tenants/:0', 'api:tenants/:4') },
  { weight: 8, arbitrary: fc.constantFrom(...KEYS.filter((key) => key.length < 1000)) },
  { weight: 1, arbitrary: fc.constantFrom(...KEYS) },
);
const amounts = fc.oneof(
  fc.bigInt(-5n, 5n),
  fc.constantFrom(INT64_MAX, INT64_MIN, INT64_MAX - 1n, INT64_MIN + 1n, 2n ** 32n, -(2n ** 32n), 2n ** 31n, 2n ** 62n),
  fc.bigInt(INT64_MIN, INT64_MAX),
);
const times = fc.oneof(
  fc.integer({ min: -1000, max: 1000 }),
  fc.integer({ min: 0, max: 100_000 }),
  fc.integer({ min: 1, max: 2 ** 40 }),
);
const operations = fc.oneof(
  { weight: 8, arbitrary: fc.record({ does: fc.constant('add' as const), key: keys, amount: amounts }) },
  {
    weight: 2,
    arbitrary: fc.record({ does: fc.constant('assign' as const), key: keys, amount: amounts, keep: fc.boolean() }),
  },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('remove' as const), key: keys }) },
  { weight: 3, arbitrary: fc.record({ does: fc.constant('expireAt' as const), key: keys, inMs: times }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('persist' as const), key: keys }) },
  { weight: 3, arbitrary: fc.record({ does: fc.constant('advance' as const), byMs: times }) },
  {
    weight: 2,
    arbitrary: fc.record({ does: fc.constant('expireSome' as const), limit: fc.integer({ min: 0, max: 3 }) }),
  },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('expireAll' as const) }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('removeAll' as const) }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('digest' as const) }) },
);
type Operation = typeof operations extends fc.Arbitrary<infer T> ? T : never;

const setups = fc.record({
  shared: fc.boolean(),
  shardCount: fc.constantFrom(1, 2, 64),
  acknowledges: fc.boolean(),
  graceMs: fc.constantFrom(0, 0, 5000),
});

interface Pair {
  readonly engine: Engine;
  readonly model: PlainModel;
  readonly acknowledges: boolean;
}

function acknowledgeAll(engine: Engine): void {
  for (let shard = 0; shard < engine.shardCount; shard++) engine.acknowledge(shard, engine.seen(shard, 0));
}

function step({ engine, model, acknowledges }: Pair, operation: Operation): [is: Status, mustBe: Status] {
  const ok: [Status, Status] = [Status.Ok, Status.Ok];
  switch (operation.does) {
    case 'add':
      return [add(engine, encode(operation.key), operation.amount), model.add(operation.key, operation.amount)];
    case 'assign':
      return [
        assign(engine, encode(operation.key), operation.amount, operation.keep),
        model.assign(operation.key, operation.amount, operation.keep),
      ];
    case 'remove':
      return [remove(engine, encode(operation.key)), model.remove(operation.key)];
    case 'expireAt': {
      const atMs = model.nowMs + operation.inMs;
      return [expireAt(engine, encode(operation.key), atMs), model.expireAt(operation.key, atMs)];
    }
    case 'persist':
      return [persist(engine, encode(operation.key)), model.persist(operation.key)];
    case 'advance':
      engine.advanceTo(model.nowMs + operation.byMs);
      model.advanceTo(model.nowMs + operation.byMs);
      expect(engine.nowMs).toBe(model.nowMs);
      return ok;
    case 'expireSome':
      expect(engine.expireSome(operation.limit)).toBeLessThanOrEqual(operation.limit);
      return ok;
    case 'expireAll':
      engine.expireSome(1_000_000);
      model.dropOver();
      if (acknowledges) acknowledgeAll(engine);
      return ok;
    case 'removeAll':
      engine.removeAll();
      model.removeAll();
      return ok;
    case 'digest':
      checkConsistency(engine);
      return ok;
  }
}

function compare({ engine, model }: Pair, touched: string | undefined): void {
  const bounds = model.countBounds();
  expect(engine.keyCount()).toBeGreaterThanOrEqual(bounds.least);
  expect(engine.keyCount()).toBeLessThanOrEqual(bounds.most);
  const scanned = scanAll(engine).map((key) => Buffer.from(key).toString('latin1'));
  expect(new Set(scanned)).toEqual(new Set(model.visibleKeys()));
  expect(scanned.length).toBe(new Set(scanned).size);
  for (const key of touched === undefined ? KEYS.filter((key) => key.length < 1000) : [touched]) {
    expect(read(engine, encode(key)), key.slice(0, 20)).toEqual(model.read(key));
  }
}

describe('one node', () => {
  test('answers every sequence of changes as a plain map does', () => {
    fc.assert(
      fc.property(setups, fc.array(operations, { maxLength: 80 }), (setup, sequence) => {
        const engine = Engine.format({
          maxMemoryBytes: MEMORY_BYTES,
          origin: ORIGIN,
          nowMs: START_MS,
          shared: setup.shared,
          shardCount: setup.shardCount,
          expiryGraceMs: setup.graceMs,
          growOnlyPrefixes: GROW_ONLY,
        });
        const model = new PlainModel(START_MS, setup.graceMs, GROW_ONLY);
        if (setup.acknowledges) for (let shard = 0; shard < engine.shardCount; shard++) engine.acknowledge(shard, 0);
        const pair: Pair = { engine, model, acknowledges: setup.acknowledges };
        for (const operation of sequence) {
          const [is, mustBe] = step(pair, operation);
          expect(is).toBe(mustBe);
          compare(pair, 'key' in operation ? operation.key : undefined);
        }
        checkConsistency(engine);
      }),
      { numRuns: 400 },
    );
  });
});
