import { expect } from 'vitest';
import { Batch } from '../batches/batch.js';
import { Restore } from '../batches/restore.js';
import { batchSince } from '../batches/walk.js';
import type { Engine } from '../keys/engine.js';
import { checkConsistency } from './check-consistency.js';
import { componentsOf } from './inspect.js';
import { makeNode, partsOf, START_MS, send, type TestNode } from './nodes.js';
import { hashSecretOf, Random } from './random.js';
import { add, assign, expireAt, persist, read, remove } from './single-key.js';

const SHARDS = 2;
export const KEYS = Array.from({ length: 6 }, (_, index) => `key-${index}`);
export const GRACE_MS = 10_000;

/** The simplest disk there is: batches and notes in an array, in the order in which they were flushed. */
export class Disk {
  readonly entries: ((restore: Restore) => void)[] = [];
  private readonly durable = new Map<string, number>();

  flush(engine: Engine): void {
    for (let shard = 0; shard < engine.shardCount; shard++) {
      // Others first, the own origin last.
      for (let origin = engine.origins.count - 1; origin >= 0; origin--) {
        const name = `${shard}:${origin}`;
        const start = this.durable.get(name) ?? 0;
        // An empty disk walks from 1, so that the walk's cursor stays with the one that walks from 0.
        for (const part of partsOf(engine, origin, start || 1, { components: 3, keyBytes: 4096 }, shard))
          this.keep(part, engine.nowMs);
        this.durable.set(name, engine.seen(shard, origin));
      }
      for (const dropped of engine.takeDropped(shard, 1000)) this.entries.push((restore) => restore.drop(dropped));
      engine.acknowledge(shard, this.durable.get(`${shard}:0`) ?? 0);
    }
  }

  keep(batch: Batch, writtenAtMs?: number): void {
    this.entries.push((restore) => {
      expect(restore.apply(batch, writtenAtMs)).toBe(true);
    });
  }

  restoreInto(engine: Engine, nowMs: number): void {
    const restore = new Restore(engine);
    for (const entry of this.entries) entry(restore);
    restore.finish(nowMs);
  }
}

export function makeDurableNode(name: number): TestNode {
  const node = makeNode(name, { shardCount: SHARDS, expiryGraceMs: GRACE_MS });
  node.engine.dropped.start();
  return node;
}

export function restored(name: number, disk: Disk, nowMs: number): Engine {
  const { engine } = makeNode(name, {
    shardCount: SHARDS,
    expiryGraceMs: GRACE_MS,
    hashSecret: hashSecretOf(99),
    nowMs: START_MS,
  });
  disk.restoreInto(engine, nowMs);
  return engine;
}

function expectSame(actual: Engine, expected: Engine): void {
  checkConsistency(actual);
  for (const key of KEYS) {
    expect(read(actual, key), key).toEqual(read(expected, key));
    const byOrigin = (a: { origin: string }, b: { origin: string }) => (a.origin < b.origin ? -1 : 1);
    expect(componentsOf(actual, key).sort(byOrigin), key).toEqual(componentsOf(expected, key).sort(byOrigin));
  }
  for (let shard = 0; shard < SHARDS; shard++) {
    for (let origin = 0; origin < expected.origins.count; origin++) {
      const same = actual.origins.find(expected.origins.idOf(origin));
      if (same === -1) continue;
      expect(actual.seen(shard, same)).toBe(expected.seen(shard, origin));
      expect(actual.digestOf(shard, same)).toBe(expected.digestOf(shard, origin));
    }
  }
  expect(actual.keyCount()).toBe(expected.keyCount());
}

export function change(random: Random, engine: Engine, nowMs: number): void {
  const key = random.pick(KEYS);
  const dice = random.next();
  if (dice < 0.45) add(engine, key, BigInt(random.below(50)) - 10n);
  else if (dice < 0.6) assign(engine, key, BigInt(random.below(1000)) - 300n, random.chance(0.5));
  else if (dice < 0.75) remove(engine, key);
  else if (dice < 0.95) expireAt(engine, key, nowMs + 1 + random.below(30_000));
  else persist(engine, key);
}

/** A node with a disk and, where there is one, a neighbour that changes the same keys. */
export function history(seed: number, options: { neighbour: boolean; snapshotInBetween: boolean }): void {
  const random = new Random(seed);
  const node = makeDurableNode(1);
  const neighbour = makeDurableNode(2);
  const disk = new Disk();
  let nowMs = START_MS;
  if (options.neighbour) {
    add(neighbour.engine, 'theirs', 1n);
    send(neighbour, node);
  }
  const steps = 20 + random.below(80);
  const walkAt = random.below(steps);
  for (let step = 0; step < steps; step++) {
    nowMs += random.chance(0.1) ? random.below(60_000) : random.below(200);
    for (const { engine } of [node, neighbour]) {
      engine.advanceTo(nowMs);
      if (random.chance(0.2)) engine.expireSome(1000);
    }
    change(random, node.engine, nowMs);
    if (options.neighbour && random.chance(0.5)) change(random, neighbour.engine, nowMs);
    if (options.neighbour && random.chance(0.3)) send(neighbour, node);
    if (options.neighbour && random.chance(0.3)) {
      send(node, neighbour);
      for (let shard = 0; shard < SHARDS; shard++) neighbour.engine.acknowledge(shard, node.engine.seen(shard, 1) || 0);
    }
    if (random.chance(0.3)) disk.flush(node.engine);
    if (options.snapshotInBetween && step === walkAt) {
      // Parts of a walk from the beginning, with changes and flushes between them, and the log goes on behind.
      const snapshot: Batch[] = [];
      disk.flush(node.engine);
      const before = disk.entries.length;
      for (let shard = 0; shard < SHARDS; shard++) {
        for (let origin = node.engine.origins.count - 1; origin >= 0; origin--) {
          for (let at = 0; ; ) {
            const limits = { components: 2, keyBytes: 4096 };
            const part = batchSince(node.engine, shard, origin, at, new Batch(), limits, 0);
            snapshot.push(part);
            if (part.to !== 0 || part.count === 0) break;
            at = part.reached;
            if (random.chance(0.5)) change(random, node.engine, nowMs);
            if (random.chance(0.3)) disk.flush(node.engine);
            if (random.chance(0.2)) node.engine.expireSome(1000);
          }
        }
      }
      const log = disk.entries.splice(before);
      disk.entries.length = 0;
      for (const part of snapshot) disk.keep(part);
      disk.entries.push(...log);
    }
  }
  // A floor or reset that is dropped at an acknowledgement is a change too; the second time there is none.
  for (let flush = 0; flush < 3; flush++) disk.flush(node.engine);
  checkConsistency(node.engine);
  const again = restored(1, disk, nowMs);
  if (!options.neighbour) dropExpired([node.engine, again]);
  expectSame(again, node.engine);
}

/** Without peers, dropped expired generations are not noted: a restore drops them again. */
function dropExpired(engines: readonly Engine[]): void {
  for (const engine of engines) {
    for (let shard = 0; shard < SHARDS; shard++) engine.acknowledge(shard, engine.seen(shard, 0));
    engine.expireSome(100_000);
  }
}
