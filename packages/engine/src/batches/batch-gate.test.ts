import { expect, test } from 'vitest';
import { MAX_VERSION, versionAt } from '../memory/record.js';
import { checkConsistency } from '../testing/check-consistency.js';
import { componentsOf } from '../testing/inspect.js';
import { makeNode, partsOf, START_MS, send, type TestNode } from '../testing/nodes.js';
import { add, assign, bytesOf, expireAt, persist, read, scanAll } from '../testing/single-key.js';
import { Batch } from './batch.js';
import { aheadMs, Verdict } from './batch-gate.js';
import { Applied } from './merge.js';
import { Restore } from './restore.js';

const HOUR_MS = 3_600_000;

/** A batch with one component of another node, which then is changed. */
function batchWith(change: (batch: Batch) => void, nowMs = START_MS): Batch {
  const from = makeNode(2, { nowMs });
  add(from.engine, 'key', 5n);
  expireAt(from.engine, 'key', nowMs + HOUR_MS);
  const [batch] = partsOf(from.engine, 0, 0);
  change(batch);
  return batch;
}

/** Sets a number of the batch, or that of its first component. */
function set(field: keyof Batch, value: number): (batch: Batch) => void {
  return (batch) => {
    const column = batch[field];
    if (column instanceof Float64Array || column instanceof Uint32Array) column[0] = value;
    else Object.assign(batch, { [field]: value });
  };
}

const HOSTILE: readonly (readonly [name: string, change: (batch: Batch) => void])[] = [
  ['version', set('version', MAX_VERSION)],
  ['version', set('version', versionAt(START_MS + HOUR_MS))],
  ['expiry setting', set('decided', MAX_VERSION)],
  ['floor', set('floorMs', Number.MAX_SAFE_INTEGER)],
  ['floor', set('floorMs', START_MS + HOUR_MS)],
  ['the end of a walk', set('to', MAX_VERSION)],
  ['the end of a part', set('reached', MAX_VERSION)],
  ['the start of a part', set('from', MAX_VERSION)],
  ['the start of a walk', set('start', MAX_VERSION)],
  [
    'cancelled generation',
    (batch) => {
      batch.cancels.push({ origin: batch.origin, born: MAX_VERSION, positive: 1n, negative: 0n });
      batch.cancelEnd[0] = 1;
    },
  ],
];

test.each(HOSTILE)(
  'a batch with a %s from the future is refused whole, by name, and later changes count',
  (name, change) => {
    const { engine, merge } = makeNode(1);
    expect(merge.apply(batchWith(change))).toBe(Applied.Ahead);
    expect(merge.tooFarAhead).toContain(name);
    expect(merge.tooFarAhead).toMatch(/\d+ \w+ ahead of this server's clock/);
    expect(engine.origins.count).toBe(1);
    expect(componentsOf(engine, 'key')).toEqual([]);
    assign(engine, 'key', 7n);
    persist(engine, 'key');
    expect(read(engine, 'key')).toEqual({ exists: true, value: 7n, expiresAtMs: 0 });
    checkConsistency(engine);
  },
);

const BROKEN: readonly (readonly [name: string, change: (batch: Batch) => void])[] = [
  ['the shard', set('shardIndex', 1)],
  ['version', set('version', -1)],
  ['version', set('version', versionAt(START_MS) + 0.5)],
  ['version', set('version', Number.NaN)],
  ['version', set('version', 2 ** 53)],
  ['birth', set('born', versionAt(START_MS) + 100_000)],
  ['birth', set('born', -1)],
  ['expiry', set('expiresAtMs', 2 ** 53)],
  ['expiry', set('expiresAtMs', -1)],
  ['expiry setting', set('decided', 2 ** 60)],
  ['floor', set('floorMs', Number.POSITIVE_INFINITY)],
  ['length of key', set('keyEnd', 65_537)],
];

test.each(BROKEN)('a batch with a %s that no replica can have written is broken', (name, change) => {
  const { engine, merge } = makeNode(1);
  expect(merge.apply(batchWith(change))).toBe(Applied.Broken);
  expect(merge.brokenRule).toContain(name);
  expect(engine.origins.count).toBe(1);
});

test('a node whose clock is in 2099 is refused, and admitted when its clock is right, or ours is there too', () => {
  const here = makeNode(1);
  const nowMs = Date.UTC(2058, 0, 1);
  const there = makeNode(2, { nowMs });
  add(there.engine, 'key', 5n);
  const [batch] = partsOf(there.engine, 0, 0);
  expect(here.merge.apply(batch)).toBe(Applied.Ahead);
  expect(here.merge.tooFarAhead).toMatch(/^the end of a part \d+, which is 32 years ahead of this server's clock$/);
  const later = makeNode(3, { nowMs: nowMs - 30_000 });
  expect(later.merge.apply(batch)).toBe(Applied.Ok);
  const corrected = makeNode(2);
  add(corrected.engine, 'key', 6n);
  send(corrected, here);
  expect(read(here.engine, 'key').value).toBe(6n);
});

test('clocks that differ by less than the bound are no reason to refuse, in either direction', () => {
  const graceMs = 120_000;
  const ahead = makeNode(1, { expiryGraceMs: graceMs, nowMs: START_MS + graceMs });
  const behind = makeNode(2, { expiryGraceMs: graceMs, nowMs: START_MS });
  for (const [from, to] of [
    [ahead, behind],
    [behind, ahead],
  ] as const) {
    add(from.engine, 'key', 1n);
    expireAt(from.engine, 'key', START_MS + HOUR_MS);
    for (const part of partsOf(from.engine, 0, 0)) expect(to.merge.apply(part)).toBe(Applied.Ok);
  }
  expect(read(ahead.engine, 'key')).toEqual(read(behind.engine, 'key'));
});

test('a version that is admitted can be outdone: the width of versions is never left', () => {
  const nowMs = Date.UTC(2999, 0, 1);
  const { engine, merge } = makeNode(1, { nowMs });
  const gate = merge.openGate();
  const last = 2 ** 53 - 2 ** 39;
  expect(gate.ofVersion('a version', last)).toBe(Verdict.Admitted);
  expect(gate.ofVersion('a version', last + 1)).toBe(Verdict.Ahead);
  expect(merge.apply(batchWith(set('decided', last), nowMs))).toBe(Applied.Ok);
  persist(engine, 'key');
  assign(engine, 'key', 3n);
  expect(read(engine, 'key')).toEqual({ exists: true, value: 3n, expiresAtMs: 0 });
  checkConsistency(engine);
});

/** What one node restores from batches, and what it leaves out. */
function restored(batches: readonly Batch[], name = 1): TestNode & { readonly reasons: readonly string[] } {
  const node = makeNode(name);
  const reasons: string[] = [];
  const restore = new Restore(node.engine, (_batch, _index, reason) => reasons.push(reason));
  for (const batch of batches) restore.apply(batch);
  restore.finish(START_MS);
  checkConsistency(node.engine);
  return { ...node, reasons };
}

test.each([1, 2])(
  'a component that cannot be is left out of a restart, and the others are there (as node %i)',
  (name) => {
    const from = makeNode(2);
    for (const key of ['one', 'two', 'three']) add(from.engine, key, 5n);
    expireAt(from.engine, 'two', START_MS + HOUR_MS);
    const [batch] = partsOf(from.engine, 0, 0);
    const at = (key: string) =>
      [0, 1, 2].find((index) =>
        Buffer.from(batch.keyBytes.subarray(batch.keyStart(index), batch.keyEnd[index])).equals(bytesOf(key)),
      ) as number;
    batch.decided[at('two')] = MAX_VERSION;
    batch.to = MAX_VERSION;
    const { engine, reasons } = restored([batch], name);
    expect(reasons).toHaveLength(2);
    expect(reasons[0]).toMatch(/^expiry setting 9007199254740991 of key "two", which is 33 years ahead/);
    expect(reasons[1]).toMatch(/^the end of a walk 9007199254740991/);
    expect(['one', 'two', 'three'].map((key) => read(engine, key).value)).toEqual([5n, 0n, 5n]);
    for (const key of ['one', 'two', 'three']) add(engine, key, 1n);
    persist(engine, 'two');
    expect(scanAll(engine)).toHaveLength(3);
    checkConsistency(engine);
  },
);

test('a key in another shard, a version twice, a shard that is not there: left out, not fatal', () => {
  const from = makeNode(2, { shardCount: 2 });
  for (let key = 0; key < 20; key++) add(from.engine, `key${key}`, 1n);
  const batches = [0, 1].flatMap((shard) => partsOf(from.engine, 0, 0, undefined, shard));
  const [first, second] = batches;
  const counts = [first.count, second.count];
  const strange = Object.assign(new Batch(), first, { shardIndex: 9 });
  const twice = Object.assign(new Batch(), second, {
    keyBytes: Uint8Array.from(second.keyBytes),
    version: second.version,
  });
  twice.version = Float64Array.from(second.version, (_, index) => second.version[counts[1] - 1 - index]);
  twice.born = twice.version;
  const node = makeNode(1, { shardCount: 2 });
  const reasons: string[] = [];
  const restore = new Restore(node.engine, (_batch, _index, reason) => reasons.push(reason));
  for (const batch of [first, second, strange, twice]) expect(restore.apply(batch)).toBe(true);
  first.shardIndex = 1;
  expect(restore.apply(first)).toBe(true);
  restore.finish(START_MS);
  checkConsistency(node.engine);
  expect(scanAll(node.engine)).toHaveLength(20);
  expect(reasons).toContain('there is no shard 9');
  expect(reasons).toContain('its key is not one of shard 1');
});

test('a clock that is behind at a restart does not keep a node from its own data', () => {
  const from = makeNode(1);
  add(from.engine, 'key', 5n);
  const { engine } = makeNode(1, { nowMs: Date.UTC(2025, 5, 1) });
  const restore = new Restore(engine);
  for (const batch of partsOf(from.engine, 0, 0)) expect(restore.apply(batch, START_MS)).toBe(true);
  restore.finish(START_MS);
  expect(read(engine, 'key').value).toBe(5n);
  expect(engine.nowMs).toBe(START_MS);
});

test('the bound is twice that on the skew of clocks, and a minute', () => {
  expect(aheadMs(120_000)).toBe(300_000);
});
