import { expect, test } from 'vitest';
import type { Engine } from '../keys/engine.js';
import { OriginShardWord, OWN_ORIGIN, SHARD_NOTES, ShardWord } from '../memory/layout.js';
import { linkAt } from '../memory/link.js';
import { Component, versionOf } from '../memory/record.js';
import { checkConsistency } from '../testing/check-consistency.js';
import { makeNode, partsOf, START_MS } from '../testing/nodes.js';
import { Random } from '../testing/random.js';
import { add, expireAt, persist, remove } from '../testing/single-key.js';
import { Batch, NOT_PASSED } from './batch.js';
import { walkForLog, walkSince } from './walk.js';

const KEYS = 600;
const ALL = { components: 4096, keyBytes: 1024 * 1024 };

/** A log in memory: by key the version that was written last, and the watermark of each shard. */
class TestLog {
  readonly versions = new Map<string, number>();
  readonly watermarks: number[];
  private readonly engine: Engine;

  constructor(engine: Engine) {
    this.engine = engine;
    this.watermarks = new Array(engine.shardCount).fill(0);
  }

  /** Writes all changes of a shard, in parts; `between` is called behind each part but the last. */
  write(shard: number, components: number, between: () => void): void {
    const start = this.watermarks[shard];
    const seen = this.engine.seen(shard, OWN_ORIGIN);
    for (let from = start; ; between()) {
      const part = new Batch();
      walkForLog(this.engine, shard, from, part, { ...ALL, components }, start);
      for (let index = 0; index < part.count; index++) {
        expect(part.version[index]).toBeGreaterThan(index === 0 ? from : part.version[index - 1]);
        const key = Buffer.from(part.keyBytes.subarray(part.keyStart(index), part.keyEnd[index])).toString();
        this.versions.set(key, part.version[index]);
      }
      expect(part.passed).toBe(NOT_PASSED);
      from = part.reached;
      if (part.to === 0) continue;
      expect(part.to).toBeGreaterThanOrEqual(seen);
      this.watermarks[shard] = part.to;
      return;
    }
  }

  /** Every own component is in the log as it is in the store. */
  check(shard: number): void {
    const { store } = this.engine;
    const state = store.originShardOf(OWN_ORIGIN, shard);
    for (let at = linkAt(store.memory, state + OriginShardWord.head); at !== 0; ) {
      const key = Buffer.from(this.engine.keyOf(at)).toString();
      expect([key, this.versions.get(key)]).toEqual([key, versionOf(store.memory, at)]);
      at = linkAt(store.memory, at + Component.next);
    }
  }
}

function noted({ store }: Engine, shard: number): number {
  return store.memory[store.shardAt(shard) + ShardWord.noted];
}

test('the log gets every change, whatever comes between its walks', () => {
  for (let seed = 1; seed <= 60; seed++) {
    const random = new Random(seed);
    const { engine } = makeNode(1, { shardCount: 2 });
    let nowMs = START_MS;
    const key = () => `key:${random.below(random.below(8) === 0 ? KEYS : 20)}`;
    const advance = (): void => {
      nowMs += random.below(40);
      engine.advanceTo(nowMs);
    };
    const change = (): void => {
      const kind = random.below(40);
      if (kind < 30) add(engine, key(), 1n);
      else if (kind < 33) remove(engine, key());
      else if (kind < 36) expireAt(engine, key(), nowMs + 1 + random.below(50));
      else if (kind < 37) persist(engine, key());
      else if (kind < 38) advance();
      else if (kind < 39) while (engine.expireSome(64) > 0);
      else for (let index = 0; index < random.below(KEYS); index++) add(engine, `key:${index}`, 1n);
    };
    for (let before = random.below(3) * 50; before > 0; before--) change();
    const log = new TestLog(engine);
    for (let round = 0; round < 40; round++) {
      for (let changes = random.below(60); changes > 0; changes--) change();
      const shard = random.below(2);
      const synced = log.watermarks[shard];
      log.write(shard, 1 + random.below(30), () => random.below(3) === 0 && change());
      checkConsistency(engine);
      log.check(shard);
      const other = random.below(8);
      if (other === 0) log.watermarks[shard] = synced;
      if (other === 1) partsOf(engine, OWN_ORIGIN, random.below(2) * log.watermarks[shard], undefined, shard);
      if (other === 2) engine.acknowledge(shard, log.watermarks[shard]);
      if (other === 3) engine.removeAll();
    }
  }
});

test('changes that are noted are not put in order for the log', () => {
  const { engine } = makeNode(1);
  const log = new TestLog(engine);
  for (let index = 0; index < 10; index++) add(engine, `key:${index}`, 1n);
  log.write(0, 100, () => {});
  expect(engine.lists.orderedTo(engine.store.originShardOf(OWN_ORIGIN, 0))).toBe(0);
  expect(noted(engine, 0)).toBe(0);
  add(engine, 'key:3', 1n);
  add(engine, 'key:3', 1n);
  expect(noted(engine, 0)).toBe(1);
});

test('more changes than there is room to note are walked in the list, and the next ones noted again', () => {
  const { engine } = makeNode(1);
  const log = new TestLog(engine);
  for (let index = 0; index <= SHARD_NOTES; index++) add(engine, `key:${index}`, 1n);
  expect(noted(engine, 0)).toBe(SHARD_NOTES + 1);
  log.write(0, 100, () => {});
  log.check(0);
  expect(log.versions.size).toBe(SHARD_NOTES + 1);
  add(engine, 'key:7', 1n);
  expect(noted(engine, 0)).toBe(1);
});

test('a walk that is not the log leaves the notes alone', () => {
  const { engine } = makeNode(1);
  add(engine, 'key', 1n);
  walkSince(engine, 0, OWN_ORIGIN, 0, new Batch(), ALL, 0, NOT_PASSED);
  expect(noted(engine, 0)).toBe(1);
});
