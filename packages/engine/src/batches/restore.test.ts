import { expect, test } from 'vitest';
import { OWN_ORIGIN } from '../memory/layout.js';
import { checkConsistency } from '../testing/check-consistency.js';
import { componentsOf } from '../testing/inspect.js';
import { exchange, makeNode, partsOf, START_MS, send } from '../testing/nodes.js';
import { Disk, GRACE_MS, history, makeDurableNode, restored } from '../testing/restore-history.js';
import { add, assign, expireAt, read, remove, scanAll } from '../testing/single-key.js';
import { Batch } from './batch.js';
import { Applied, Merge } from './merge.js';
import { Restore } from './restore.js';
import { batchSince } from './walk.js';

test('a node restored from what was flushed holds the same values, expiries, digests and sequences', () => {
  for (let seed = 0; seed < 60; seed++) history(seed, { neighbour: false, snapshotInBetween: false });
});

test('so does one restored from a snapshot taken in parts under traffic and the log behind it', () => {
  for (let seed = 1000; seed < 1060; seed++) history(seed, { neighbour: false, snapshotInBetween: true });
});

test('components of other origins come back unchanged, and dropped ones stay gone', () => {
  for (let seed = 2000; seed < 2100; seed++) history(seed, { neighbour: true, snapshotInBetween: seed % 2 === 0 });
});

test('a floor that was dropped does not come back with an older state of the component that had it', () => {
  history(5846, { neighbour: true, snapshotInBetween: true });
});

test('a count of another origin that an expiry ended is not back after a restart', () => {
  const node = makeDurableNode(1);
  const neighbour = makeDurableNode(2);
  const disk = new Disk();
  add(neighbour.engine, 'key-0', 5n);
  send(neighbour, node);
  expireAt(node.engine, 'key-0', START_MS + 1000);
  disk.flush(node.engine);
  const later = START_MS + 1000 + GRACE_MS + 1000;
  node.engine.advanceTo(later);
  node.engine.expireSome(1000);
  add(node.engine, 'key-0', 1n);
  disk.flush(node.engine);
  expect(read(node.engine, 'key-0').value).toBe(1n);
  expect(read(restored(1, disk, later), 'key-0').value).toBe(1n);
});

test('the sequence of a restored node does not run behind what was already given out, and its clock not ahead', () => {
  const node = makeDurableNode(1);
  const disk = new Disk();
  node.engine.advanceTo(START_MS + 50_000);
  add(node.engine, 'key-0', 1n);
  disk.flush(node.engine);
  const again = restored(1, disk, START_MS);
  expect(again.nowMs).toBe(START_MS);
  const before = componentsOf(again, 'key-0')[0].version;
  add(again, 'key-0', 1n);
  expect(componentsOf(again, 'key-0')[0].version).toBeGreaterThan(before);
});

test('restored as another incarnation, what was its own is another’s and goes on counting', () => {
  const node = makeDurableNode(1);
  const disk = new Disk();
  add(node.engine, 'key-0', 7n);
  disk.flush(node.engine);
  const again = restored(3, disk, START_MS);
  add(again, 'key-0', 1n);
  expect(read(again, 'key-0').value).toBe(8n);
  expect(componentsOf(again, 'key-0')).toHaveLength(2);
  expect(scanAll(again)).toHaveLength(1);
  checkConsistency(again);
});

test('a disk that holds more than fits says so', () => {
  const node = makeNode(1, { maxMemoryBytes: 16 * 1024 * 1024 });
  for (let key = 0; key < 30_000; key++) add(node.engine, `a-key-that-takes-room-${key}`, 1n);
  const { engine } = makeNode(2);
  const restore = new Restore(engine);
  const results = partsOf(node.engine, 0, 0).map((part) => restore.apply(part));
  expect(results[0]).toBe(true);
  expect(results.at(-1)).toBe(false);
});

test('a reset that is made again after a crash cancels what the first one had seen, though that is lost', () => {
  const [here, there] = [makeDurableNode(1), makeNode(2, { shardCount: 2 })];
  const disk = new Disk();
  add(there.engine, 'key', 1n);
  send(there, here);
  disk.flush(here.engine);
  add(there.engine, 'key', -30n);
  for (let shard = 0; shard < 2; shard++) {
    const part = batchSince(there.engine, shard, OWN_ORIGIN, here.engine.seen(shard, 1), new Batch());
    part.to = 0; // more was to follow, so that the disk has nothing to write of it
    expect(here.merge.apply(part)).toBe(Applied.Ok);
  }
  assign(here.engine, 'key', 5n);
  for (let shard = 0; shard < 2; shard++)
    for (const part of partsOf(here.engine, OWN_ORIGIN, 1, undefined, shard)) disk.keep(part);
  const back = restored(1, disk, START_MS);
  remove(back, 'key');
  exchange([{ engine: back, merge: new Merge(back) }, there]);
  expect([back, there.engine].map((engine) => read(engine, 'key').value)).toEqual([0n, 0n]);
});
