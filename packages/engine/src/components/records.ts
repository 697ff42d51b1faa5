import { type Attachments, Kind, SummaryWord } from '../memory/attachments.js';
import type { ByteInput } from '../memory/byte-input.js';
import { stemOf, stemWordsOf } from '../memory/key-bytes.js';
import { HeaderWord, OWN_ORIGIN, ShardNumber, ShardWord } from '../memory/layout.js';
import { linkAt } from '../memory/link.js';
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
import { databaseOfRecord, isReservedRecord } from './reserved.js';
import type { Unpublished } from './unpublished.js';
import type { VersionLists } from './version-list.js';
import type { Wheel } from './wheel.js';

/** The parts of a store that work together on a key. */
interface KeyParts {
  readonly store: Store;
  readonly lists: VersionLists;
  readonly generations: Generations;
  readonly ownGeneration: OwnGeneration;
  readonly wheel: Wheel;
  readonly dropped: DroppedComponents;
  readonly unpublished: Unpublished;
}

/**
 * Makes, counts and frees the records of keys. A key's record, which is the own component too, is made empty and freed
 * when no component of the key is left; components of other origins hang off it and are freed one by one. A caller that
 * changes or drops a component refreshes the key afterwards. The shard's lock is held.
 */
export class Records {
  private readonly parts: KeyParts;
  private readonly store: Store;
  private readonly memory: Int32Array;
  private readonly attachments: Attachments;

  constructor(parts: KeyParts) {
    this.parts = parts;
    this.store = parts.store;
    this.memory = parts.store.memory;
    this.attachments = parts.store.attachments;
  }

  /** A record for a key that has none, with an own component that never changed. The key's hash was just made. */
  make(shard: number, input: ByteInput, start: number, length: number): number {
    const { memory, store } = this;
    if (!store.table.prepareInsert(shard)) return 0;
    const stem = store.stems.take(shard, input, start, length);
    const stemWords = stemWordsOf(memory, stem);
    const words = keyWords(length) - (stem === 0 ? 0 : stemWords - 1);
    const record = store.slab.take(shard, words, true);
    if (record === 0) {
      store.stems.give(shard, stem);
      return 0;
    }
    clearComponent(memory, record, length, stem === 0 ? 0 : Flag.stem);
    let at = record + Component.stemOrKey;
    if (stem !== 0) memory[at++] = stem;
    let from = start + (stemWords << 2);
    for (const whole = start + (length & ~3); from < whole; from += 4) memory[at++] = input.view.getInt32(from, true);
    const rest = length & 3;
    if (rest !== 0) memory[at] = input.view.getInt32(from, true) & ((1 << (rest << 3)) - 1);
    if (store.table.insert(shard, record)) {
      if (isReservedRecord(memory, record)) Atomics.add(memory, HeaderWord.reservedRecords, 1);
      return record;
    }
    store.stems.give(shard, stem);
    store.slab.give(shard, record);
    return 0;
  }

  /** Brings all that is derived from a key's components up to date; true when none was left and the record is freed. */
  refreshKey(shard: number, record: number): boolean {
    const { memory, store } = this;
    const hasForeign = this.parts.generations.firstForeign(record) !== 0;
    if (!hasForeign) {
      const version = versionOf(memory, record);
      const acknowledged = store.numbers[(shard >>> 1) + ShardNumber.acknowledged];
      if (this.attachments.isEmpty(record) && version <= acknowledged && !this.parts.unpublished.has(record)) {
        this.free(shard, record);
        return true;
      }
      const summary = this.attachments.find(record, Kind.summary);
      if (summary !== 0) this.attachments.drop(shard, record, summary);
    }
    this.parts.generations.refresh(shard, record);
    const summary = this.attachments.find(record, Kind.summary);
    const isSeen = isPresent(memory, record) || (summary !== 0 && memory[summary + SummaryWord.generations] > 0);
    this.count(shard, record, isSeen || this.parts.unpublished.has(record));
    return false;
  }

  /** Counts the key among those of its shard, or no longer; the system's own are never counted. */
  count(shard: number, record: number, visible: boolean): void {
    const memory = this.memory;
    const counted = (memory[record + Component.bornHigh] & Flag.counted) !== 0;
    if (visible === counted || isReservedRecord(memory, record)) return;
    memory[record + Component.bornHigh] ^= Flag.counted;
    const change = visible ? 1 : -1;
    memory[shard + ShardWord.keys] += change;
    memory[shard + ShardWord.databaseKeys + databaseOfRecord(memory, record)] += change;
  }

  /** Drops the own component without a new version: every replica drops it by its expiry, or none holds it. */
  dropOwn(shard: number, record: number): void {
    const memory = this.memory;
    if (versionOf(memory, record) !== 0) this.parts.lists.remove(this.store.originShardAt(OWN_ORIGIN, shard), record);
    this.parts.ownGeneration.end(shard, record);
    this.attachments.dropKind(shard, record, Kind.floor);
    this.attachments.dropKind(shard, record, Kind.cancel);
    const keyLength = keyLengthOf(memory, record);
    const kept = memory[record + Component.bornHigh] & (Flag.counted | Flag.stem);
    const attachments = linkAt(memory, record + Component.attachments);
    clearComponent(memory, record, keyLength, kept);
    memory[record + Component.attachments] = attachments;
  }

  private free(shard: number, record: number): void {
    this.count(shard, record, false);
    if (versionOf(this.memory, record) !== 0) this.dropOwn(shard, record);
    this.parts.wheel.disarm(shard, record);
    this.attachments.dropEvery(shard, record);
    if (isReservedRecord(this.memory, record)) Atomics.sub(this.memory, HeaderWord.reservedRecords, 1);
    this.store.table.remove(shard, record);
    this.store.stems.give(shard, stemOf(this.memory, record));
    this.store.slab.give(shard, record);
  }

  /** Drops a component of another origin for good; a disk, where there is one, is notified. */
  collectForeign(shard: number, record: number, component: number): void {
    this.parts.dropped.note(shard, record, component);
    this.dropForeign(shard, record, component);
  }

  dropForeign(shard: number, record: number, component: number): void {
    const memory = this.memory;
    const origin = originIndexOf(memory, component);
    this.parts.lists.remove(this.store.originShardAt(origin, shard), component);
    const summary = this.attachments.find(record, Kind.summary);
    let link = summary + SummaryWord.firstForeign;
    while (linkAt(memory, link) !== component) link = linkAt(memory, link) + Component.foreignSibling;
    memory[link] = memory[component + Component.foreignSibling];
    this.attachments.dropEvery(shard, component);
    this.store.slab.give(shard, component);
  }
}
