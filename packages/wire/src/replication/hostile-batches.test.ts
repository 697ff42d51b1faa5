import {
  Applied,
  Batch,
  batchSince,
  Engine,
  joinInt64,
  Merge,
  NOT_PASSED,
  OWN_ORIGIN,
  Restore,
  Status,
  splitInt64,
  Verdict,
} from '@quotadb/engine';
import { checkConsistency, valueOfOpen, withKey } from '@quotadb/engine/testing';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeFrame, encodeFrame } from './frame-codec.js';
import { FrameKind } from './frames.js';
import { originOf, type PlainBatch, toBatch } from './testing/components.js';
import { hostileBatches } from './testing/hostile-batches.js';

/** Whatever a peer says, a store stays whole, does what its clients ask for, and can send and restore all of it. */
const NOW_MS = Date.UTC(2026, 5, 1);
const KEYS = ['a', 'key', 'k'.repeat(40)];
const MAXIMUM_VALUE = 2n ** 63n - 1n;

function makeEngine(name: number, nowMs = NOW_MS): Engine {
  const options = { maxMemoryBytes: 4 * 1024 * 1024, shardCount: 1, nowMs, origin: originOf(name) };
  const engine = Engine.format(options);
  engine.acknowledge(0, 0);
  return engine;
}

type Command = (engine: Engine) => void;

/** Each with what its client relies on afterwards. */
const COMMANDS: Readonly<Record<string, Command>> = {
  set(engine) {
    expect(engine.assign(...splitInt64(7n), false)).toBe(Status.Ok);
    expect([engine.exists, valueOfOpen(engine), engine.expiresAtMs]).toEqual([true, 7n, 0]);
  },
  persist(engine) {
    engine.persist();
    expect(engine.expiresAtMs).toBe(0);
  },
  expire(engine) {
    const { exists } = engine;
    engine.expireAt(NOW_MS + 3_600_000);
    if (exists) expect(engine.expiresAtMs).toBeGreaterThanOrEqual(NOW_MS + 3_600_000);
    if (exists) expect(engine.expiresAtMs).toBeLessThan(NOW_MS + 4_000_000);
  },
  increment(engine) {
    const before = valueOfOpen(engine);
    const status = engine.add(0, 1);
    expect(status).toBe(before === MAXIMUM_VALUE ? Status.Overflow : Status.Ok);
    if (status === Status.Ok) expect(engine.exists).toBe(true);
  },
  decrement(engine) {
    engine.add(-1, -1);
  },
  remove(engine) {
    engine.remove();
    expect(engine.exists).toBe(false);
  },
  read(engine) {
    expect(valueOfOpen(engine)).toBe(joinInt64(engine.valueHigh, engine.valueLow));
  },
};

const step = fc.record({
  batch: hostileBatches(NOW_MS, KEYS),
  key: fc.constantFrom(...KEYS),
  commands: fc.array(fc.constantFrom(...Object.keys(COMMANDS)), { minLength: 1, maxLength: 3 }),
});

/** Everything of one store, as another gets it over the wire. */
function* walksOf(engine: Engine): Generator<Batch> {
  for (let origin = engine.origins.count - 1; origin >= OWN_ORIGIN; origin--) {
    for (let from = 0, passed = NOT_PASSED; ; ) {
      const limits = { components: 2, keyBytes: 1000 };
      const batch = batchSince(engine, 0, origin, from, new Batch(), limits, 0, passed);
      const sent = decodeFrame(encodeFrame({ kind: FrameKind.batch, batch }));
      if (sent.kind === FrameKind.batch) yield sent.batch;
      from = batch.reached;
      passed = batch.passed;
      if (batch.to !== 0 || batch.count === 0) break;
    }
  }
}

function readAll(engine: Engine): string[] {
  return KEYS.map((key) => withKey(engine, key, () => `${engine.exists} ${valueOfOpen(engine)} ${engine.expiresAtMs}`));
}

function checkAll(engine: Engine): void {
  checkConsistency(engine);
  const scanned: string[] = [];
  engine.scan(0n, 1000, (key) => scanned.push(Buffer.from(key).toString()));
  for (const key of scanned) expect(KEYS).toContain(key);
  const restored = makeEngine(1, engine.nowMs);
  const restore = new Restore(restored);
  for (const batch of walksOf(engine)) restore.apply(batch);
  restore.finish(engine.nowMs);
  checkConsistency(restored);
  expect(readAll(restored)).toEqual(readAll(engine));
  // A moment later: own changes outdo those at the edge of what was admitted, and are a little past it.
  const peer = makeEngine(9, engine.nowMs + 1000);
  const merge = new Merge(peer);
  for (const batch of walksOf(engine)) expect([Applied.Ok, Applied.Gap]).toContain(merge.apply(batch));
  checkConsistency(peer);
}

function attack(steps: readonly { batch: PlainBatch; key: string; commands: readonly string[] }[], isGated: boolean) {
  const engine = makeEngine(1);
  const merge = new Merge(engine);
  if (!isGated) Object.assign(merge.gate, { ofBatch: () => Verdict.Admitted });
  for (const { batch, key, commands } of steps) {
    const frame = decodeFrame(encodeFrame({ kind: FrameKind.batch, batch: toBatch(batch) }));
    if (frame.kind === FrameKind.batch) merge.apply(frame.batch);
    checkConsistency(engine);
    for (const command of commands) withKey(engine, key, () => COMMANDS[command](engine));
    checkConsistency(engine);
  }
  checkAll(engine);
  engine.advanceTo(NOW_MS + 100_000);
  engine.expireSome(1000);
  checkAll(engine);
}

const property = (isGated: boolean) =>
  fc.property(fc.array(step, { minLength: 1, maxLength: 8 }), (steps) => attack(steps, isGated));

test('a store that merges hostile batches stays whole, and does what its clients ask for', () => {
  fc.assert(property(true), { numRuns: 300 });
});

test('without the gate it does not: this test would find that', () => {
  expect(fc.check(property(false), { numRuns: 300, seed: 1 }).failed).toBe(true);
});
