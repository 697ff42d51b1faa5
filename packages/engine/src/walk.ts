import { Kind } from './attachments.js';
import { type Batch, NOT_PASSED } from './batch.js';
import { ByteInput } from './byte-input.js';
import type { Engine } from './engine.js';
import { joinUint64 } from './int64.js';
import { OriginShard, OWN_ORIGIN } from './layout.js';
import { bornOf, Component, isPresent, keyLengthOf, keyRecordOf, versionOf } from './record.js';

/** A part of a walk ends at whichever bound it meets first. */
export interface WalkLimits {
  readonly components: number;
  readonly keyBytes: number;
}

/** Where no part of a walk ends: parts are chained by `from`, and nothing is chained to this. */
const STRAY = 1;

export const DEFAULT_WALK_LIMITS: WalkLimits = { components: 4096, keyBytes: 256 * 1024 };

/**
 * The walk: everything of one origin in one shard that changed behind `from`, oldest first, into `batch`. Begins a walk
 * where `from` equals `start`; later parts carry the same start and walk number, and begin where the last one `reached`.
 *
 * The walk of another origin speaks for everything up to this node's own watermark. Parts that came here out of their walk
 * may lie above it, with gaps between them. They go along: one of them may have taken the place of what lay below, and if
 * that origin is no more, nobody else may have them. Once a walk has gone on past the watermark, what fills the gaps may
 * come to lie behind it; so it ends with the watermark that it has passed, which the parts that follow are told.
 */
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
  const { store, lists } = engine;
  const shard = store.shardAt(shardIndex);
  const state = store.originShardAt(origin, shard);
  batch.clear();
  batch.shardIndex = shardIndex;
  batch.origin = origin === OWN_ORIGIN ? engine.origins.ownId : engine.origins.idOf(origin);
  batch.start = start;
  batch.from = from;
  batch.reached = from;
  return engine.withShard(shard, () => {
    if (origin === OWN_ORIGIN) lists.order(state);
    const cut = passed === NOT_PASSED ? store.numbers[(state >>> 1) + OriginShard.seenNumber] : passed;
    let last = 0;
    const isContinued = from !== start;
    let at = isContinued ? lists.firstAfterCursor(state, from) : lists.firstAfter(state, from);
    while (at !== 0 && batch.count < limits.components && batch.bytes < limits.keyBytes) {
      writeComponent(engine, batch, at);
      batch.reached = versionOf(store.memory, at);
      last = at;
      at = store.memory[at + Component.next];
    }
    if (at === 0) batch.to = cut;
    batch.passed = batch.reached > cut ? cut : NOT_PASSED;
    if (isContinued || batch.to === 0) lists.moveCursor(state, from, batch.to === 0 ? last : 0);
    return batch;
  });
}

/**
 * What is held of one origin for these keys of a shard, as a part that belongs to no walk: it can be merged, but moves no
 * watermark. Keys of which nothing is held, or nothing up to version `upTo`, are left out.
 */
export function batchOfKeys(
  engine: Engine,
  shardIndex: number,
  origin: number,
  keys: readonly Uint8Array[],
  upTo: number,
  batch: Batch,
): Batch {
  const { store, lives } = engine;
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
      store.hash.ofInput(ByteInput.copyOf(key), 0, key.length);
      if (store.shardOfHash() !== shard) continue;
      const record = store.table.find(shard, ByteInput.copyOf(key), 0, key.length);
      const held = record === 0 ? 0 : origin === OWN_ORIGIN ? record : lives.findForeign(record, origin);
      const version = held === 0 ? 0 : versionOf(store.memory, held);
      if (version !== 0 && version <= upTo) found.push(held);
    }
    // Oldest first, as everything in a batch is.
    found.sort((one, other) => versionOf(store.memory, one) - versionOf(store.memory, other));
    for (const component of found) writeComponent(engine, batch, component);
    return batch;
  });
}

function writeComponent(engine: Engine, batch: Batch, component: number): void {
  const { store, lives } = engine;
  const { memory, attachments } = store;
  const record = keyRecordOf(memory, component);
  const keyLength = keyLengthOf(memory, record);
  batch.reserve(keyLength);
  const index = batch.count;
  const keyStart = batch.keyStart(index);
  const keyAt = (record + Component.key) * 4;
  for (let at = 0; at < keyLength; at++) batch.keyBytes[keyStart + at] = store.bytes[keyAt + at];
  batch.keyEnd[index] = keyStart + keyLength;
  batch.version[index] = versionOf(memory, component);
  batch.born[index] = bornOf(memory, component);
  batch.present[index] = isPresent(memory, component) ? 1 : 0;
  batch.positiveHigh[index] = memory[component + Component.positiveHigh];
  batch.positiveLow[index] = memory[component + Component.positiveLow];
  if (memory[component + Component.attachments] === 0) {
    batch.negativeHigh[index] = 0;
    batch.negativeLow[index] = 0;
    batch.expiresAtMs[index] = 0;
    batch.decided[index] = 0;
    batch.floorMs[index] = 0;
    batch.cancelEnd[index] = batch.cancels.length;
    batch.count++;
    return;
  }
  const negative = attachments.find(component, Kind.negative);
  batch.negativeHigh[index] = negative === 0 ? 0 : memory[negative + 3];
  batch.negativeLow[index] = negative === 0 ? 0 : memory[negative + 2];
  batch.expiresAtMs[index] = lives.expiresAt(component);
  batch.decided[index] = lives.decidedAt(component);
  batch.floorMs[index] = lives.recordedFloor(component);
  for (let at = attachments.find(component, Kind.cancel); at !== 0; at = attachments.nextOfKind(at)) {
    batch.cancels.push({
      origin: engine.origins.idOf(attachments.extraOf(at)),
      born: attachments.numberAt(at, 2),
      positive: joinUint64(memory[at + 5], memory[at + 4]),
      negative: joinUint64(memory[at + 7], memory[at + 6]),
    });
  }
  batch.cancelEnd[index] = batch.cancels.length;
  batch.count++;
}
