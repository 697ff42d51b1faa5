import type { Engine } from '../keys/engine.js';
import { ByteInput } from '../memory/byte-input.js';
import { OriginShardNumber, OWN_ORIGIN } from '../memory/layout.js';
import { linkAt } from '../memory/link.js';
import { Component, versionOf } from '../memory/record.js';
import { type Batch, NOT_PASSED } from './batch.js';

/** A part of a walk ends at whichever bound it meets first. */
export interface WalkLimits {
  readonly components: number;
  readonly keyBytes: number;
}

/** Where no part of a walk ends: parts are chained by `from`, and nothing is chained to this. */
const STRAY = 1;

const DEFAULT_WALK_LIMITS: WalkLimits = { components: 4096, keyBytes: 256 * 1024 };

/** A walk fills this, under the shard's lock: a batch for peers, the bytes of a section for a file. */
export interface WalkTarget {
  /** Components in this part so far, and the bytes of their keys. */
  readonly count: number;
  readonly bytes: number;
  /** See Batch. */
  reached: number;
  to: number;
  passed: number;
  take(engine: Engine, component: number): void;
}

/**
 * The walk: everything of one origin in one shard that changed behind `from`, oldest first, into `target`, which is
 * empty. Begins a walk where `from` equals `start`; later parts carry the same start and walk number, and begin where
 * the last one `reached`.
 *
 * The walk of another origin covers everything up to this node's own watermark. Parts that arrived here out of their
 * walk may lie above it, with gaps between them. They are included: one of them may have replaced a component that lay
 * below, and if that origin is gone, this node may be the only one that holds them. Once a walk has gone past the
 * watermark, the changes that fill the gaps may come to lie behind it; so it ends with the watermark that it has
 * passed, which is given to the parts that follow.
 */
export function walkSince(
  engine: Engine,
  shardIndex: number,
  origin: number,
  from: number,
  target: WalkTarget,
  limits: WalkLimits,
  start: number,
  passed: number,
): void {
  const { store } = engine;
  const shard = store.shardAt(shardIndex);
  const state = store.originShardAt(origin, shard);
  engine.withShard(shard, () => walkList(engine, state, from, target, limits, start, passed));
}

/**
 * The walk of the log over this node's own changes: from the notes of changes, where they go back to `from`, else over
 * the list.
 */
export function walkForLog(
  engine: Engine,
  shardIndex: number,
  from: number,
  target: WalkTarget,
  limits: WalkLimits,
  start: number,
): void {
  const { store } = engine;
  const { notes } = engine.lists;
  const shard = store.shardAt(shardIndex);
  const state = store.originShardAt(OWN_ORIGIN, shard);
  engine.withShard(shard, () => {
    if (notes.areComplete(shard, from)) {
      takeNoted(engine, shard, state, from, target, limits);
    } else {
      walkList(engine, state, from, target, limits, start, NOT_PASSED);
      if (target.to !== 0) notes.begin(shard, target.to);
    }
  });
}

function takeNoted(
  engine: Engine,
  shard: number,
  state: number,
  from: number,
  target: WalkTarget,
  limits: WalkLimits,
): void {
  const { store, lists } = engine;
  const { notes } = lists;
  const noted = notes.sort(shard);
  let taken = 0;
  while (taken < noted && target.count < limits.components && target.bytes < limits.keyBytes) {
    target.take(engine, notes.at(shard, taken++));
  }
  const seen = store.numbers[(state >>> 1) + OriginShardNumber.seen];
  target.reached = taken === 0 ? from : versionOf(store.memory, notes.at(shard, taken - 1));
  target.to = taken === noted ? seen : 0;
  target.passed = NOT_PASSED;
  notes.drop(shard, taken, target.to === 0 ? target.reached : seen);
  lists.orderSometimes(shard, state);
}

function walkList(
  engine: Engine,
  state: number,
  from: number,
  target: WalkTarget,
  limits: WalkLimits,
  start: number,
  passed: number,
): void {
  const { store, lists } = engine;
  target.reached = from;
  target.to = 0;
  const cut = passed === NOT_PASSED ? store.numbers[(state >>> 1) + OriginShardNumber.seen] : passed;
  let last = 0;
  const isContinued = from !== start;
  let at = isContinued ? lists.firstAfterCursor(state, from) : lists.firstAfter(state, from);
  while (at !== 0 && target.count < limits.components && target.bytes < limits.keyBytes) {
    target.take(engine, at);
    last = at;
    at = linkAt(store.memory, at + Component.next);
  }
  if (last !== 0) target.reached = versionOf(store.memory, last);
  if (at === 0) target.to = cut;
  target.passed = target.reached > cut ? cut : NOT_PASSED;
  if (isContinued || target.to === 0) lists.moveCursor(state, from, target.to === 0 ? last : 0);
}

/** The walk as a batch. */
export function batchSince(
  engine: Engine,
  shardIndex: number,
  origin: number,
  from: number,
  batch: Batch,
  limits: WalkLimits = DEFAULT_WALK_LIMITS,
  start: number = from,
  passed = NOT_PASSED,
): Batch {
  batch.clear();
  batch.shardIndex = shardIndex;
  batch.origin = origin === OWN_ORIGIN ? engine.origins.ownId : engine.origins.idOf(origin);
  batch.start = start;
  batch.from = from;
  walkSince(engine, shardIndex, origin, from, batch, limits, start, passed);
  return batch;
}

/**
 * The components of one origin for these keys of a shard, as a part that belongs to no walk: it can be merged, but
 * moves no watermark. Keys without such a component up to version `upTo` are left out.
 */
export function batchOfKeys(
  engine: Engine,
  shardIndex: number,
  origin: number,
  keys: readonly Uint8Array[],
  upTo: number,
  batch: Batch,
): Batch {
  const { store, generations } = engine;
  const shard = store.shardAt(shardIndex);
  batch.clear();
  batch.shardIndex = shardIndex;
  batch.origin = engine.origins.idOf(origin);
  batch.walk = 0;
  batch.start = 0;
  batch.from = STRAY;
  batch.reached = 0;
  return engine.withShard(shard, () => {
    const found: number[] = [];
    for (const key of keys) {
      if (store.shardOf(ByteInput.copyOf(key), 0, key.length) !== shard) continue;
      const record = store.table.find(shard, ByteInput.copyOf(key), 0, key.length);
      const held = generations.componentOf(record, origin);
      const version = held === 0 ? 0 : versionOf(store.memory, held);
      if (version !== 0 && version <= upTo) found.push(held);
    }
    // Oldest first, as everything in a batch is.
    found.sort((one, other) => versionOf(store.memory, one) - versionOf(store.memory, other));
    for (const component of found) batch.take(engine, component);
    return batch;
  });
}
