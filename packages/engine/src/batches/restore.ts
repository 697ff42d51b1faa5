import type { DroppedComponent } from '../components/dropped-components.js';
import type { Engine } from '../keys/engine.js';
import { Kind } from '../memory/attachments.js';
import { ByteInput } from '../memory/byte-input.js';
import {
  MAX_ORIGINS,
  MAX_ORIGINS_UNHEARD,
  OriginShardNumber,
  OriginShardWord,
  OWN_ORIGIN,
  ShardNumber,
} from '../memory/layout.js';
import { linkAt } from '../memory/link.js';
import { Component, Flag, MAX_VERSION, setBorn, setVersion, versionOf } from '../memory/record.js';
import type { Batch } from './batch.js';
import { aheadMs, BatchGate, Verdict } from './batch-gate.js';
import { attachFrom, makeForeign } from './foreign-component.js';
import { isEmptyIn } from './merge.js';
import { type ReDating, reDate } from './re-date.js';

/** The highest bound on the skew of clocks that a server can have had when it wrote a file. */
const HIGHEST_SKEW_BOUND_MS = 3_600_000;

/**
 * Takes the component of a batch that cannot be restored, and why. The number -1 stands for the end of the walk, which
 * then is none.
 */
export type Quarantine = (batch: Batch, index: number, reason: string) => void;

/** The shards that one thread restores: every `count`-th, from the one with this index on. */
export interface ShardShare {
  readonly index: number;
  readonly count: number;
}

export const ALL_SHARDS: ShardShare = { index: 0, count: 1 };

/** Keys expire at ticks of about this length. */
const PASS_INTERVAL_MS = 64;
/** A key that has expired and must stay is looked at again this much later. */
const KEPT_MS = 60_000;

/**
 * Puts the content of a node's own disk back into an empty store, before any client is served. Unlike a peer, the disk
 * may hold this node's own components, and they are restored as they stand: an own generation is not brought in line
 * with foreign components, as merging does. It was when they were written, because a writer puts the other origins of a
 * shard first and the own one last, into one record.
 *
 * Batches may come twice and overlap, as a snapshot and the log written meanwhile do. The newer version of a component
 * stays; one that is not held and lies below a finished walk was gone by then, and stays gone.
 *
 * Several threads can each restore a share of the shards.
 *
 * A component that no server can have written, or only one with a defect, is left out and given to the quarantine: the
 * others are worth more than none.
 */
export class Restore {
  private readonly engine: Engine;
  private readonly gate: BatchGate;
  private readonly quarantine: Quarantine;
  private readonly share: ShardShare;
  private passedMs = 0;
  /** Files up to this place name another origin. In a store that other threads restore too, more may be known. */
  private knowsOthers: boolean;
  private input = new ByteInput(new Uint8Array(ByteInput.SLACK_BYTES));
  /** By component of the batch: the hash of its key, and the shard that the key belongs to. */
  private hashes = new Int32Array(0);
  private shards = new Int32Array(0);
  /** Of no use but that reading memory for it cannot be left out. */
  private touched = 0;

  constructor(engine: Engine, quarantine: Quarantine = failOn, share = ALL_SHARDS) {
    this.engine = engine;
    this.share = share;
    this.knowsOthers = engine.origins.count > 1;
    this.gate = new BatchGate(engine);
    this.quarantine = quarantine;
    // A reset may come before the changes of the origin that it names.
    engine.origins.unheardLimit = MAX_ORIGINS;
  }

  /** The disk's content was begun at this time. Called before any of it is restored. */
  begin(nowMs: number): void {
    const { engine } = this;
    engine.clock.beginAt(nowMs);
    engine.store.pages.giveAll();
    for (let index = 0; index < engine.shardCount; index++) engine.wheel.format(engine.store.shardAt(index), nowMs);
    this.passedMs = nowMs;
  }

  /** Another thread has called `begin`, with this time, and knew of other origins by then or not. */
  join(nowMs: number, knowsOthers: boolean): void {
    this.passedMs = nowMs;
    this.knowsOthers = knowsOthers;
  }

  /** A batch of this origin is another thread's to restore. `hasCancels`: its components name other origins. */
  passOver(origin: Uint8Array, hasCancels: boolean): void {
    if (hasCancels || this.engine.origins.find(origin) !== OWN_ORIGIN) this.knowsOthers = true;
  }

  /** About this many keys will be restored: tables are made large enough, so that no key is moved when they grow. */
  expectKeys(count: number): void {
    const { store, shardCount } = this.engine;
    for (let index = 0; index < shardCount; index++)
      store.table.reserve(store.shardAt(index), Math.floor(count / shardCount));
  }

  isShardOfShare(index: number): boolean {
    return index % this.share.count === this.share.index;
  }

  /**
   * The disk holds all changes up to this time: keys that had expired by then are dropped, as they were when they were
   * written, so that the store needs no more memory than it did. Only where no other origin is known: a drop beside
   * others is on the disk itself. And only what no peer waits for, by the rule of expiry.ts; a drop makes no version.
   */
  passTime(nowMs: number): void {
    const { engine } = this;
    if (nowMs < this.passedMs + PASS_INTERVAL_MS || this.knowsOthers) return;
    this.passedMs = nowMs;
    engine.advanceTo(nowMs);
    for (let index = this.share.index; index < engine.shardCount; index += this.share.count) {
      const shard = engine.store.shardAt(index);
      engine.withShard(shard, () => {
        engine.wheel.turn(shard, nowMs, Number.POSITIVE_INFINITY, engine.generations.deadlineOf, this.dropExpired);
      });
    }
  }

  private readonly dropExpired = (shard: number, record: number): void => {
    const { generations, records, store, wheel } = this.engine;
    const acknowledged = store.numbers[(shard >>> 1) + ShardNumber.acknowledged];
    const isKnown = versionOf(store.memory, record) <= acknowledged && !store.attachments.hasResetOrFloor(record);
    if (isKnown && generations.expiresAt(record) !== 0) {
      this.dropOwn(shard, record);
      records.refreshKey(shard, record);
    } else {
      wheel.arm(shard, record, this.passedMs + KEPT_MS);
    }
  };

  /**
   * False when memory is too small for the disk's content. `writtenAtMs` is the time of the
   * server that wrote the batch: a clock that is behind at this start must not keep it from its own data.
   */
  apply(batch: Batch, writtenAtMs = this.engine.nowMs): boolean {
    const { store, origins } = this.engine;
    this.gate.admitUntil(Math.max(writtenAtMs, this.engine.nowMs) + aheadMs(HIGHEST_SKEW_BOUND_MS));
    if (batch.shardIndex >= this.engine.shardCount)
      return this.quarantineAll(batch, `there is no shard ${batch.shardIndex}`);
    const origin = origins.internHeld(batch.origin);
    if (origin === -1) return this.quarantineAll(batch, `its origin: ${origins.refusal}`);
    if (origin !== OWN_ORIGIN || batch.cancels.length > 0) this.knowsOthers = true;
    const shard = store.shardAt(batch.shardIndex);
    const state = store.originShardAt(origin, shard);
    const seenAt = (state >>> 1) + OriginShardNumber.seen;
    this.input = batch.keyInput;
    this.hashKeys(shard, batch);
    const isRestored = this.engine.withShard(shard, () => {
      for (let index = 0; index < batch.count; index++) {
        const reason = this.findFault(shard, batch, index);
        if (reason !== '') {
          this.quarantine(batch, index, reason);
          continue;
        }
        const restored =
          origin === OWN_ORIGIN
            ? this.restoreOwn(shard, state, batch, index)
            : this.restoreForeign(shard, state, origin, batch, index);
        if (!restored) return false;
      }
      const before = store.numbers[seenAt];
      if (batch.to <= before) return true;
      if (this.gate.ofVersion('the end of a walk', batch.to) !== Verdict.Admitted) {
        this.quarantine(batch, -1, this.gate.describe(undefined));
        return true;
      }
      store.numbers[seenAt] = batch.to;
      if (origin !== OWN_ORIGIN) this.engine.garbageCollection.passWatermark(shard, state, before, batch.to);
      return true;
    });
    origins.release(origin);
    return isRestored;
  }

  private quarantineAll(batch: Batch, reason: string): boolean {
    for (let index = 0; index < batch.count; index++) this.quarantine(batch, index, reason);
    return true;
  }

  /** The hashes of all keys, before the first is looked up: their buckets are read from memory at once. */
  private hashKeys(shard: number, batch: Batch): void {
    const { store } = this.engine;
    if (this.hashes.length < batch.count) {
      this.hashes = new Int32Array(batch.keyEnd.length);
      this.shards = new Int32Array(batch.keyEnd.length);
    }
    const { hashes, shards, input } = this;
    let start = 0;
    for (let index = 0; index < batch.count; index++) {
      const end = batch.keyEnd[index];
      shards[index] = store.shardOf(input, start, end - start);
      hashes[index] = store.hash.local;
      start = end;
    }
    this.touched ^= store.table.touch(shard, hashes, batch.count);
  }

  /** Why a component cannot be restored, or empty. Puts the hash of its key back. */
  private findFault(shard: number, batch: Batch, index: number): string {
    if (this.gate.ofComponent(batch, index) !== Verdict.Admitted) return this.gate.describe(batch);
    this.engine.store.hash.local = this.hashes[index];
    return this.shards[index] === shard ? '' : `its key is not one of shard ${batch.shardIndex}`;
  }

  /** Two components of one version would break the list. True: the others are restored. */
  private isTaken(state: number, batch: Batch, index: number): boolean {
    if (this.engine.lists.withVersion(state, batch.version[index]) === 0) return false;
    this.quarantine(batch, index, 'its version is that of another component');
    return true;
  }

  /** A component that had been dropped. */
  drop({ origin, version, key }: DroppedComponent): void {
    const { store, generations, origins } = this.engine;
    const index = origins.find(origin);
    if (index === -1 || !(version <= MAX_VERSION)) return;
    const shard = store.shardOf(ByteInput.copyOf(key), 0, key.length);
    if (!this.isShardOfShare(store.shardIndexOf(shard))) return;
    this.engine.withShard(shard, () => {
      const record = store.table.find(shard, ByteInput.copyOf(key), 0, key.length);
      const held = generations.componentOf(record, index);
      if (held === 0 || versionOf(store.memory, held) === 0 || versionOf(store.memory, held) > version) return;
      if (index === OWN_ORIGIN) this.dropOwn(shard, record);
      else this.engine.records.dropForeign(shard, record, held);
      this.engine.records.refreshKey(shard, record);
    });
  }

  /**
   * Everything is restored. The own sequence must not run behind versions that were given before, nor the clock behind
   * the time at which they were written, which `nowMs` includes. Versions do not date it: an own one that outdid a
   * number from a clock ahead of this node's would move its time ahead too.
   */
  finish(nowMs: number): void {
    const { store, origins } = this.engine;
    for (let index = 0; index < this.engine.shardCount; index++) {
      const state = store.originShardAt(OWN_ORIGIN, store.shardAt(index));
      const tail = linkAt(store.memory, state + OriginShardWord.tail);
      const last = tail === 0 ? 0 : versionOf(store.memory, tail);
      const seenAt = (state >>> 1) + OriginShardNumber.seen;
      store.numbers[seenAt] = Math.max(store.numbers[seenAt], last);
    }
    this.engine.advanceTo(nowMs);
    origins.unheardLimit = MAX_ORIGINS_UNHEARD;
    store.pages.keepBack();
  }

  /** After `finish`, and before anything else: see re-date.ts. */
  reDate(dating: ReDating): number {
    return reDate(this.engine, dating);
  }

  /** Some of the disk's content is missing: watermarks go back to 0, so that peers send everything again. */
  clearWatermarks(): void {
    const { engine } = this;
    for (let origin = 0; origin < engine.origins.count; origin++) {
      for (let index = 0; index < engine.shardCount; index++) {
        const state = engine.store.originShardAt(origin, engine.store.shardAt(index));
        engine.store.numbers[(state >>> 1) + OriginShardNumber.seen] = 0;
      }
    }
  }

  /** The key's hash was just made. */
  private find(shard: number, batch: Batch, index: number): number {
    const { store } = this.engine;
    const start = batch.keyStart(index);
    const length = batch.keyEnd[index] - start;
    return store.table.find(shard, this.input, start, length);
  }

  private make(shard: number, batch: Batch, index: number): number {
    const start = batch.keyStart(index);
    return this.engine.records.make(shard, this.input, start, batch.keyEnd[index] - start);
  }

  private restoreOwn(shard: number, state: number, batch: Batch, index: number): boolean {
    const { engine } = this;
    const { store, lists } = engine;
    const { memory } = store;
    let record = this.find(shard, batch, index);
    const held = record === 0 ? 0 : versionOf(memory, record);
    const version = batch.version[index];
    if (held >= version) return true;
    if (held === 0 && version <= store.numbers[(state >>> 1) + OriginShardNumber.seen]) return true;
    if (record === 0 && isPlain(batch, index) && lists.isNewest(state, version))
      return this.restoreNew(shard, state, batch, index);
    // With peers it stays: they may not have received it yet.
    if (isEmptyIn(batch, index) && !engine.isRelaying) {
      if (held === 0) return true;
      this.dropOwn(shard, record);
      engine.records.refreshKey(shard, record);
      return true;
    }
    if (this.isTaken(state, batch, index)) return true;
    if (held !== 0) lists.remove(state, record);
    // Also where there was no own component: an expiry attachment may hold the key's place in the wheel.
    if (record !== 0) this.clearAttachments(shard, record);
    else record = this.make(shard, batch, index);
    if (record === 0) return false;
    setVersion(memory, record, version);
    setBorn(memory, record, batch.born[index]);
    if (batch.present[index] === 1) memory[record + Component.bornHigh] |= Flag.present;
    else this.setEnded(shard, record, version);
    memory[record + Component.positiveLow] = batch.positiveLow[index];
    memory[record + Component.positiveHigh] = batch.positiveHigh[index];
    if (!attachFrom(engine, shard, record, batch, index)) return false;
    lists.insert(state, record);
    engine.records.refreshKey(shard, record);
    return true;
  }

  /** The same for a key that is not there, with nothing but an amount: nearly all of a snapshot are such. */
  private restoreNew(shard: number, state: number, batch: Batch, index: number): boolean {
    const { records, lists, store } = this.engine;
    const { memory } = store;
    const record = this.make(shard, batch, index);
    if (record === 0) return false;
    setVersion(memory, record, batch.version[index]);
    setBorn(memory, record, batch.born[index]);
    memory[record + Component.bornHigh] |= Flag.present;
    memory[record + Component.positiveLow] = batch.positiveLow[index];
    memory[record + Component.positiveHigh] = batch.positiveHigh[index];
    lists.addNewest(state, record);
    records.count(shard, record, true);
    return true;
  }

  private setEnded(shard: number, record: number, version: number): void {
    const { memory, numbers } = this.engine.store;
    const endedAt = (shard >>> 1) + ShardNumber.ended;
    memory[record + Component.bornHigh] &= ~Flag.present;
    numbers[endedAt] = Math.max(numbers[endedAt], version);
  }

  /** The restored state may be an older one, with attachments that the dropped state no longer had. */
  private dropOwn(shard: number, record: number): void {
    this.engine.records.dropOwn(shard, record);
    this.clearAttachments(shard, record);
  }

  /** Drops all attachments of the own component but the summary of foreign ones. */
  private clearAttachments(shard: number, record: number): void {
    const { attachments } = this.engine.store;
    this.engine.wheel.disarm(shard, record);
    for (let at = attachments.first(record); at !== 0; ) {
      const next = attachments.next(at);
      if (attachments.kindOf(at) !== Kind.summary) attachments.drop(shard, record, at);
      at = next;
    }
  }

  private restoreForeign(shard: number, state: number, origin: number, batch: Batch, index: number): boolean {
    const { engine } = this;
    const { store, generations, lists } = engine;
    const { memory } = store;
    let record = this.find(shard, batch, index);
    const held = record === 0 ? 0 : generations.findForeign(record, origin);
    const version = batch.version[index];
    if (held !== 0 && versionOf(memory, held) >= version) return true;
    if (held === 0 && version <= store.numbers[(state >>> 1) + OriginShardNumber.seen]) return true;
    if (this.isTaken(state, batch, index)) return true;
    if (held !== 0) engine.records.dropForeign(shard, record, held);
    if (record === 0) record = this.make(shard, batch, index);
    if (record === 0) return false;
    const component = makeForeign(engine, shard, record, origin, batch, index);
    if (component === 0) return false;
    lists.insert(state, component);
    engine.records.refreshKey(shard, record);
    return true;
  }
}

/** Present, with nothing that would be an attachment. */
function isPlain(batch: Batch, index: number): boolean {
  return (
    batch.present[index] === 1 &&
    (batch.negativeLow[index] | batch.negativeHigh[index]) === 0 &&
    batch.decided[index] === 0 &&
    batch.floorMs[index] === 0 &&
    batch.cancelEnd[index] === batch.cancelStart(index)
  );
}

function failOn(_batch: Batch, _index: number, reason: string): never {
  throw new RangeError(`a component cannot be restored: ${reason}`);
}
