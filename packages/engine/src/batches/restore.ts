import type { DroppedComponent } from '../components/dropped-components.js';
import type { Engine } from '../keys/engine.js';
import { assert } from '../memory/assert.js';
import { Kind } from '../memory/attachments.js';
import { ByteInput } from '../memory/byte-input.js';
import { OriginShard, OWN_ORIGIN, Shard } from '../memory/layout.js';
import { Component, Flag, setBorn, setVersion, timeOfVersion, versionOf } from '../memory/record.js';
import type { Batch } from './batch.js';
import { isEmptyIn, Merge } from './merge.js';

/**
 * What a node's own disk holds, put back into an empty store before anybody is served. Unlike a peer, the disk may speak
 * for this node's own components, and it is believed as it stands: an own generation is not brought in line with what others
 * say, as merging does. It was when that was written, because whoever writes a shard puts the other origins first and the
 * own one last, into one record.
 *
 * Batches may come twice and overlap, as a snapshot and the log written meanwhile do. The newer version of a component
 * stays; one that is not held and lies under a walk that came to its end was gone by then, and stays gone.
 */
export class Restore {
  private readonly engine: Engine;
  private readonly merge: Merge;
  private input = new ByteInput(new Uint8Array(ByteInput.SLACK_BYTES));

  constructor(engine: Engine) {
    this.engine = engine;
    this.merge = new Merge(engine);
  }

  /** False when memory, or the table of origins, is too small for what the disk holds. */
  apply(batch: Batch): boolean {
    const { store, origins } = this.engine;
    const origin = origins.intern(batch.origin);
    if (origin === -1) return false;
    const shard = store.shardAt(batch.shardIndex);
    const state = store.originShardAt(origin, shard);
    const seenAt = (state >>> 1) + OriginShard.seenNumber;
    this.input = batch.keyInput;
    return this.engine.withShard(shard, () => {
      for (let index = 0; index < batch.count; index++) {
        const restored =
          origin === OWN_ORIGIN
            ? this.restoreOwn(shard, state, batch, index)
            : this.restoreForeign(shard, state, origin, batch, index);
        if (!restored) return false;
      }
      const before = store.numbers[seenAt];
      if (batch.to <= before) return true;
      store.numbers[seenAt] = batch.to;
      if (origin !== OWN_ORIGIN) this.passWatermark(shard, state, before, batch.to);
      return true;
    });
  }

  /** A component that had been let go. */
  drop({ origin, version, key }: DroppedComponent): void {
    const { store, generations, origins } = this.engine;
    const index = origins.find(origin);
    if (index === -1) return;
    store.hash.ofInput(ByteInput.copyOf(key), 0, key.length);
    const shard = store.shardOfHash();
    this.engine.withShard(shard, () => {
      const record = store.table.find(shard, ByteInput.copyOf(key), 0, key.length);
      if (record === 0) return;
      const held = index === OWN_ORIGIN ? record : generations.findForeign(record, index);
      if (held === 0 || versionOf(store.memory, held) === 0 || versionOf(store.memory, held) > version) return;
      if (index === OWN_ORIGIN) this.dropOwn(shard, record);
      else this.engine.records.dropForeign(shard, record, held);
      this.engine.records.refreshKey(shard, record);
    });
  }

  /**
   * Everything has come. The clock must not run behind what was already dated by it, and the own sequence not behind what
   * was already given out.
   */
  finish(nowMs: number): void {
    const { engine } = this;
    const { store } = engine;
    let newest = 0;
    for (let index = 0; index < engine.shardCount; index++) {
      const state = store.originShardAt(OWN_ORIGIN, store.shardAt(index));
      const tail = store.memory[state + OriginShard.tail];
      const last = tail === 0 ? 0 : versionOf(store.memory, tail);
      const seenAt = (state >>> 1) + OriginShard.seenNumber;
      store.numbers[seenAt] = Math.max(store.numbers[seenAt], last);
      newest = Math.max(newest, store.numbers[seenAt]);
    }
    engine.advanceTo(Math.max(nowMs, newest === 0 ? 0 : timeOfVersion(newest)));
  }

  /** What came is not everything: nothing is claimed to be held up to anywhere, so that peers send it again. */
  clearWatermarks(): void {
    const { engine } = this;
    for (let origin = 0; origin < engine.origins.count; origin++) {
      for (let index = 0; index < engine.shardCount; index++) {
        const state = engine.store.originShardAt(origin, engine.store.shardAt(index));
        engine.store.numbers[(state >>> 1) + OriginShard.seenNumber] = 0;
      }
    }
  }

  private find(shard: number, batch: Batch, index: number): number {
    const { store } = this.engine;
    const start = batch.keyStart(index);
    const length = batch.keyEnd[index] - start;
    store.hash.ofInput(this.input, start, length);
    assert(store.shardOfHash() === shard, 'a key is restored in its own shard');
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
    if (held === 0 && version <= store.numbers[(state >>> 1) + OriginShard.seenNumber]) return true;
    // Peers may not have heard of it yet.
    if (isEmptyIn(batch, index) && !engine.isRelaying) {
      if (held === 0) return true;
      this.dropOwn(shard, record);
      engine.records.refreshKey(shard, record);
      return true;
    }
    if (held !== 0) lists.remove(state, record);
    // Also where there was no own component: an expiry attachment may be there to hold the key's place in the wheel.
    if (record !== 0) this.clearAttachments(shard, record);
    else record = this.make(shard, batch, index);
    if (record === 0) return false;
    setVersion(memory, record, version);
    setBorn(memory, record, batch.born[index]);
    if (batch.present[index] === 1) memory[record + Component.bornHigh] |= Flag.present;
    else this.setEnded(shard, record, version);
    memory[record + Component.positiveLow] = batch.positiveLow[index];
    memory[record + Component.positiveHigh] = batch.positiveHigh[index];
    if (!this.merge.attach(shard, record, batch, index)) return false;
    lists.insert(state, record);
    engine.records.refreshKey(shard, record);
    return true;
  }

  private setEnded(shard: number, record: number, version: number): void {
    const { memory, numbers } = this.engine.store;
    const endedAt = (shard >>> 1) + Shard.endedNumber;
    memory[record + Component.bornHigh] &= ~Flag.present;
    numbers[endedAt] = Math.max(numbers[endedAt], version);
  }

  /** The state that goes is the one on disk, which may say more than the one that was dropped did. */
  private dropOwn(shard: number, record: number): void {
    this.engine.records.dropOwn(shard, record);
    this.clearAttachments(shard, record);
  }

  /** All that the own component said; what is known of others stays. */
  private clearAttachments(shard: number, record: number): void {
    const { memory, attachments } = this.engine.store;
    this.engine.wheel.disarm(shard, record);
    for (let at = memory[record + Component.attachments]; at !== 0; ) {
      const next = memory[at];
      if (attachments.kindOf(at) !== Kind.summary) attachments.drop(shard, record, at);
      at = next;
    }
  }

  private restoreForeign(shard: number, state: number, origin: number, batch: Batch, index: number): boolean {
    const { engine, merge } = this;
    const { store, generations, lists } = engine;
    const { memory } = store;
    let record = this.find(shard, batch, index);
    const held = record === 0 ? 0 : generations.findForeign(record, origin);
    const version = batch.version[index];
    if (held !== 0 && versionOf(memory, held) >= version) return true;
    if (held === 0 && version <= store.numbers[(state >>> 1) + OriginShard.seenNumber]) return true;
    if (held !== 0) engine.records.dropForeign(shard, record, held);
    if (record === 0) record = this.make(shard, batch, index);
    if (record === 0) return false;
    const component = merge.makeForeign(shard, record, origin, batch, index);
    if (component === 0) return false;
    lists.insert(state, component);
    engine.records.refreshKey(shard, record);
    return true;
  }

  /** As in merging: once everybody knows of it, an empty component has done its work, and an expired one may go. */
  private passWatermark(shard: number, state: number, before: number, seen: number): void {
    const { engine } = this;
    const { memory, attachments } = engine.store;
    const acknowledged = engine.garbageCollection.acknowledgedOther(state);
    for (let at = engine.lists.firstAfter(state, before); at !== 0 && versionOf(memory, at) <= seen; ) {
      const next = memory[at + Component.next];
      const record = memory[at + Component.foreignKey];
      const isEmpty = engine.generations.isSilent(at) && versionOf(memory, at) <= acknowledged;
      const hasExpiry = attachments.find(at, Kind.expiry) !== 0;
      if (isEmpty) engine.records.dropForeign(shard, record, at);
      if (isEmpty || hasExpiry) engine.records.refreshKey(shard, record);
      at = next;
    }
  }
}
