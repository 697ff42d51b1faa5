import { expect, test } from 'vitest';
import type { Engine } from '../keys/engine.js';
import { versionAt } from '../memory/record.js';
import { checkConsistency } from '../testing/check-consistency.js';
import { componentsOf } from '../testing/inspect.js';
import { exchange, START_MS, send, type TestNode } from '../testing/nodes.js';
import { Random } from '../testing/random.js';
import { repairFrom } from '../testing/repair.js';
import { change, Disk, GRACE_MS, KEYS, makeDurableNode, restored } from '../testing/restore-history.js';
import { add, expireAt, persist, read, remove } from '../testing/single-key.js';
import { Merge } from './merge.js';
import { admittedUntilMs, datedUntilMs, reDate } from './re-date.js';

const FUTURE_MS = Date.UTC(2038, 0, 1);
const SHARDS = [0, 1];

/** Starts node 1 again from its disk, with a clock that is right; peers hold what `peer` holds. */
function backFromFuture(disk: Disk, nowMs: number, peer?: TestNode): TestNode {
  const engine = restored(1, disk, FUTURE_MS + 1000);
  const own = peer?.engine.origins.find(engine.origins.idOf(0)) ?? -1;
  const heldByPeers = SHARDS.map((shard) => (own === -1 ? 0 : (peer as TestNode).engine.seen(shard, own)));
  // A digest that was read before covers components that are dated anew.
  for (const shard of SHARDS) engine.digestOf(shard, 0);
  reDate(engine, { nowMs, skewBoundMs: GRACE_MS, heldByPeers });
  checkConsistency(engine);
  expect(engine.nowMs).toBe(nowMs);
  expect(datedUntilMs(engine)).toBeLessThanOrEqual(admittedUntilMs(nowMs, GRACE_MS));
  return { engine, merge: new Merge(engine) };
}

function expectSame(one: Engine, other: Engine): void {
  for (const engine of [one, other]) checkConsistency(engine);
  for (const key of KEYS) expect(read(one, key), key).toEqual(read(other, key));
  for (const shard of SHARDS)
    for (let origin = 0; origin < one.origins.count; origin++) {
      const same = other.origins.find(one.origins.idOf(origin));
      expect(other.digestOf(shard, same)).toBe(one.digestOf(shard, origin));
    }
}

test('counts of a time far ahead reach the peer that has refused them, once, also those of a generation from before', () => {
  const [node, peer, disk] = [makeDurableNode(1), makeDurableNode(2), new Disk()];
  add(node.engine, 'before', 5n);
  add(peer.engine, 'before', 7n);
  exchange([node, peer]);
  node.engine.advanceTo(FUTURE_MS);
  add(node.engine, 'before', 100n);
  add(node.engine, 'before', -1n);
  add(node.engine, 'new', 30n);
  disk.flush(node.engine);
  send(node, peer);
  expect(['before', 'new'].map((key) => read(peer.engine, key).value)).toEqual([12n, 0n]);
  const nowMs = START_MS + 10_000;
  peer.engine.advanceTo(nowMs);
  const back = backFromFuture(disk, nowMs, peer);
  const [born] = componentsOf(node.engine, 'before').map((component) => component.born);
  expect(componentsOf(back.engine, 'before')[0].born).toBe(born);
  expect(componentsOf(back.engine, 'new')[0].born).toBeGreaterThanOrEqual(versionAt(nowMs));
  add(back.engine, 'new', 1n);
  exchange([back, peer]);
  for (const { engine } of [back, peer])
    expect(['before', 'new'].map((key) => read(engine, key).value)).toEqual([111n, 31n]);
  expectSame(back.engine, peer.engine);
});

test('an expiry that was set far ahead has what was left of it; one that had passed has passed; none stays none', () => {
  const [node, disk] = [makeDurableNode(1), new Disk()];
  add(node.engine, 'key-0', 1n);
  expireAt(node.engine, 'key-0', START_MS + 3_600_000);
  node.engine.advanceTo(FUTURE_MS);
  for (const key of ['key-1', 'key-2', 'key-3']) add(node.engine, key, 1n);
  expireAt(node.engine, 'key-1', FUTURE_MS + 6000);
  expireAt(node.engine, 'key-2', FUTURE_MS + 500);
  expireAt(node.engine, 'key-3', FUTURE_MS + 500);
  persist(node.engine, 'key-3');
  disk.flush(node.engine);
  const nowMs = START_MS + 10_000;
  const { engine } = backFromFuture(disk, nowMs);
  // A second had passed there.
  expect(read(engine, 'key-1')).toEqual({ exists: true, value: 1n, expiresAtMs: nowMs + 5000 });
  expect(read(engine, 'key-2').exists).toBe(false);
  expect(read(engine, 'key-3').expiresAtMs).toBe(0);
  expect(read(engine, 'key-0').expiresAtMs).toBe(START_MS + 3_600_000);
  engine.advanceTo(nowMs + 5000 + GRACE_MS + 1000);
  engine.expireSome(1000);
  expect(read(engine, 'key-1').exists).toBe(false);
  expect(engine.keyCount()).toBe(2);
  checkConsistency(engine);
});

test('a generation that was removed far ahead is gone everywhere, and what the peer counted meanwhile is not', () => {
  const [node, peer, disk] = [makeDurableNode(1), makeDurableNode(2), new Disk()];
  add(node.engine, 'key-0', 5n);
  add(peer.engine, 'key-0', 7n);
  exchange([node, peer]);
  node.engine.advanceTo(FUTURE_MS);
  remove(node.engine, 'key-0');
  disk.flush(node.engine);
  add(peer.engine, 'key-0', 1n);
  const back = backFromFuture(disk, START_MS + 10_000, peer);
  exchange([back, peer]);
  expect([back, peer].map(({ engine }) => read(engine, 'key-0').value)).toEqual([1n, 1n]);
});

test('the sequence goes on behind what peers hold, though the components that had those versions are gone', () => {
  const [node, peer, disk] = [makeDurableNode(1), makeDurableNode(2), new Disk()];
  node.engine.advanceTo(START_MS + 60_000); // a little ahead, which peers admit
  add(node.engine, 'key-0', 5n);
  send(node, peer);
  node.engine.advanceTo(FUTURE_MS);
  add(node.engine, 'key-0', 1n);
  disk.flush(node.engine);
  peer.engine.advanceTo(START_MS + 1000);
  const back = backFromFuture(disk, START_MS + 1000, peer);
  exchange([back, peer]);
  expect([back, peer].map(({ engine }) => read(engine, 'key-0').value)).toEqual([6n, 6n]);
});

test('after any history with some seconds far ahead both regions agree on values, expiries and digests', () => {
  for (let seed = 0; seed < 150; seed++) anyHistory(new Random(seed));
});

function anyHistory(random: Random): void {
  const [node, peer, disk] = [makeDurableNode(1), makeDurableNode(2), new Disk()];
  let [nowMs, aheadOfMs] = [START_MS, 0];
  const jumpAt = random.below(60);
  for (let step = 0; step < 80; step++) {
    nowMs += random.below(500);
    if (step === jumpAt) aheadOfMs = FUTURE_MS - nowMs - 40_000;
    node.engine.advanceTo(nowMs + aheadOfMs);
    peer.engine.advanceTo(nowMs);
    change(random, node.engine, node.engine.nowMs);
    change(random, peer.engine, nowMs);
    if (random.chance(0.3)) send(node, peer);
    if (random.chance(0.3)) send(peer, node);
    if (random.chance(0.1)) node.engine.expireSome(1000);
    if (random.chance(0.3)) disk.flush(node.engine);
  }
  disk.flush(node.engine);
  const back = backFromFuture(disk, nowMs, peer);
  exchange([back, peer]);
  change(random, back.engine, nowMs);
  exchange([back, peer]);
  // Own components that had expired by the time that was wrong are gone without a version: comparison finds them.
  repairFrom(peer.engine, peer.merge, back.engine);
  exchange([back, peer]);
  expectSame(back.engine, peer.engine);
}
