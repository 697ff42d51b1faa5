import { type Attachments, Kind } from '../memory/attachments.js';
import type { ByteInput } from '../memory/byte-input.js';
import { Header, OWN_ORIGIN, Shard } from '../memory/layout.js';
import {
  Component,
  clearComponent,
  Flag,
  isPresent,
  keyLengthOf,
  keyWords,
  originIndexOf,
  versionOf,
} from '../memory/record.js';
import type { Store } from '../memory/store.js';
import type { DroppedComponents } from './dropped-components.js';
import type { Generations } from './generations.js';
import type { OwnGeneration } from './own-generation.js';
import { isReservedRecord } from './reserved.js';
import type { Unpublished } from './unpublished.js';
import type { VersionLists } from './version-list.js';
import type { Wheel } from './wheel.js';

/**
 * What is made, counted and freed of a key. Its record, which is the own component too, is made empty and goes when nothing is
 * left to say of the key; components of other origins hang off it and go one by one. Whoever changes or drops one refreshes the
 * key afterwards. The shard's lock is held.
 */
export class Records {
  private readonly store: Store;
  private readonly lists: VersionLists;
  private readonly generations: Generations;
  private readonly ownGeneration: OwnGeneration;
  private readonly wheel: Wheel;
  private readonly dropped: DroppedComponents;
  private readonly unpublished: Unpublished;
  private readonly memory: Int32Array;
  private readonly attachments: Attachments;

  constructor(
    store: Store,
    lists: VersionLists,
    generations: Generations,
    ownGeneration: OwnGeneration,
    wheel: Wheel,
    dropped: DroppedComponents,
    unpublished: Unpublished,
  ) {
    this.store = store;
    this.lists = lists;
    this.generations = generations;
    this.ownGeneration = ownGeneration;
    this.wheel = wheel;
    this.dropped = dropped;
    this.unpublished = unpublished;
    this.memory = store.memory;
    this.attachments = store.attachments;
  }

  /** A record for a key that has none, with an own component that never was. The key's hash was just made. */
  make(shard: number, input: ByteInput, start: number, length: number): number {
    const { memory, store } = this;
    if (!store.table.prepareInsert(shard)) return 0;
    const record = store.slab.take(shard, keyWords(length), true);
    if (record === 0) return 0;
    clearComponent(memory, record, length, 0);
    let at = record + Component.key;
    let from = start;
    for (const whole = start + (length & ~3); from < whole; from += 4) memory[at++] = input.view.getInt32(from, true);
    const rest = length & 3;
    if (rest !== 0) memory[at] = input.view.getInt32(from, true) & ((1 << (rest << 3)) - 1);
    if (store.table.insert(shard, record)) {
      if (isReservedRecord(memory, record)) Atomics.add(memory, Header.reservedRecords, 1);
      return record;
    }
    store.slab.give(shard, record);
    return 0;
  }

  /** Returns true when nothing was left of the key and its record is gone. */
  refreshKey(shard: number, record: number): boolean {
    const { memory, store } = this;
    const hasForeign = this.generations.firstForeign(record) !== 0;
    if (!hasForeign) {
      const version = versionOf(memory, record);
      const acknowledged = store.numbers[(shard >>> 1) + Shard.acknowledgedNumber];
      if (this.ownGeneration.isEmpty(record) && version <= acknowledged && !this.unpublished.has(record)) {
        this.free(shard, record);
        return true;
      }
      const summary = this.attachments.find(record, Kind.summary);
      if (summary !== 0) this.attachments.drop(shard, record, summary);
    }
    this.generations.refresh(shard, record);
    const summary = this.attachments.find(record, Kind.summary);
    const isSeen = isPresent(memory, record) || (summary !== 0 && memory[summary + 3] > 0);
    this.count(shard, record, isSeen || this.unpublished.has(record));
    return false;
  }

  /** Counts the key among those of its shard, or no longer; the system's own are never counted. */
  count(shard: number, record: number, visible: boolean): void {
    const memory = this.memory;
    const counted = (memory[record + Component.bornHigh] & Flag.counted) !== 0;
    if (visible === counted || isReservedRecord(memory, record)) return;
    memory[record + Component.bornHigh] ^= Flag.counted;
    memory[shard + Shard.keys] += visible ? 1 : -1;
  }

  /** Forgets the own component without a word to anybody: it is gone by its own expiry, or nobody needs telling. */
  dropOwn(shard: number, record: number): void {
    const memory = this.memory;
    if (versionOf(memory, record) !== 0) this.lists.remove(this.store.originShardAt(OWN_ORIGIN, shard), record);
    this.ownGeneration.end(shard, record);
    this.ownGeneration.takeBack(shard, record);
    const keyLength = keyLengthOf(memory, record);
    const counted = memory[record + Component.bornHigh] & Flag.counted;
    const attachments = memory[record + Component.attachments];
    clearComponent(memory, record, keyLength, counted);
    memory[record + Component.attachments] = attachments;
  }

  private free(shard: number, record: number): void {
    this.count(shard, record, false);
    if (versionOf(this.memory, record) !== 0) this.dropOwn(shard, record);
    this.wheel.disarm(shard, record);
    this.attachments.dropEvery(shard, record);
    if (isReservedRecord(this.memory, record)) Atomics.sub(this.memory, Header.reservedRecords, 1);
    this.store.table.remove(shard, record);
    this.store.slab.give(shard, record);
  }

  /** Lets a component of another origin go for good; where there is a disk, it will be told. */
  collectForeign(shard: number, record: number, component: number): void {
    this.dropped.note(shard, record, component);
    this.dropForeign(shard, record, component);
  }

  dropForeign(shard: number, record: number, component: number): void {
    const memory = this.memory;
    const origin = originIndexOf(memory, component);
    this.lists.remove(this.store.originShardAt(origin, shard), component);
    const summary = this.attachments.find(record, Kind.summary);
    let link = summary + 2;
    while (memory[link] !== component) link = memory[link] + Component.foreignSibling;
    memory[link] = memory[component + Component.foreignSibling];
    this.attachments.dropEvery(shard, component);
    this.store.slab.give(shard, component);
  }
}
