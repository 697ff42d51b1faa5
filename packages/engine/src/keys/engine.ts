import { Digests } from '../components/digest.js';
import { type DroppedComponent, DroppedComponents } from '../components/dropped-components.js';
import { Generations } from '../components/generations.js';
import { OwnGeneration } from '../components/own-generation.js';
import { Records } from '../components/records.js';
import { isReservedKey, isReservedRecord } from '../components/reserved.js';
import { Unpublished } from '../components/unpublished.js';
import { VersionLists } from '../components/version-list.js';
import { Wheel } from '../components/wheel.js';
import { assert } from '../memory/assert.js';
import { Attachments, Kind, SummaryFlag } from '../memory/attachments.js';
import { ByteInput } from '../memory/byte-input.js';
import { Clock } from '../memory/clock.js';
import { highHalf, INT64_MAX, INT64_MIN, lowHalf, TWO_POW_32 } from '../memory/int64.js';
import {
  BASE_BYTES,
  DEFAULT_SHARDS,
  Header,
  MAX_SHARDS,
  OriginShard,
  OWN_ORIGIN,
  PAGE_BYTES,
  Shard,
} from '../memory/layout.js';
import { giveLock, takeLock } from '../memory/lock.js';
import { Origins } from '../memory/origins.js';
import { Component, FOREIGN_WORDS, isPresent, keyLengthOf, keyWords, versionOf } from '../memory/record.js';
import { Slab } from '../memory/slab.js';
import { Store, type StoreBuffer } from '../memory/store.js';
import { Expiry } from './expiry.js';
import { GarbageCollection } from './garbage-collection.js';
import { GrowOnly } from './grow-only.js';
import { randomKey, removeAll, scanKeys } from './keyspace.js';
import { type EngineStats, statsOf } from './stats.js';
import { Status } from './status.js';

export interface EngineOptions {
  /** The ceiling: everything the store will ever use is reserved, not committed, at this size. */
  readonly maxMemoryBytes: number;
  /** On a SharedArrayBuffer several threads can attach; on a plain one there is one user, and no locks. */
  readonly shared?: boolean;
  readonly shardCount?: number;
  /** This node: 16 bytes of replica id, 16 of incarnation. */
  readonly origin: Uint8Array;
  readonly nowMs: number;
  /** A random number that others cannot guess, so that they cannot choose keys that collide. */
  readonly seed?: number;
  /** How long expired generations are kept, hidden, for latecomers: longer than clocks can differ. 0 where there are no peers. */
  readonly expiryGraceMs?: number;
  readonly growOnlyPrefixes?: readonly string[];
}

const SMALLEST_MEMORY_BYTES = 4 * 1024 * 1024;

/**
 * The store as commands use it. One key is open at a time: `open` takes its shard's lock and loads its value, the
 * methods change it, `close` gives the lock back. Nothing here allocates on the way of an increment.
 */
export class Engine {
  static readonly MAX_KEY_BYTES = 65536;

  readonly buffer: StoreBuffer;
  readonly store: Store;
  readonly origins: Origins;
  readonly clock: Clock;
  readonly generations: Generations;
  readonly lists: VersionLists;
  readonly digests: Digests;
  readonly ownGeneration: OwnGeneration;
  readonly wheel: Wheel;
  readonly dropped: DroppedComponents;
  readonly unpublished: Unpublished;
  readonly records: Records;
  readonly growOnly: GrowOnly;
  readonly garbageCollection: GarbageCollection;
  readonly expiry: Expiry;
  private readonly memory: Int32Array;
  private readonly numbers: Float64Array;
  private readonly attachments: Attachments;
  /** How often lockAll and lockKeys were called and not undone, and the shards they hold, a bit each. */
  private lockDepth = 0;
  private readonly heldShards = new Int32Array(MAX_SHARDS / 32);

  /** The open key. */
  exists = false;
  valueHigh = 0;
  valueLow = 0;
  expiresAtMs = 0;
  private shard = 0;
  private record = 0;
  private input: ByteInput | null = null;
  private keyStart = 0;
  private keyLength = 0;
  /** This node's own generation is there and not over, and the value is far from the ends of its range: what is added to one is added to the other. */
  private goesOn = false;
  private isForbidden = false;

  private constructor(store: Store) {
    this.buffer = store.buffer;
    this.store = store;
    this.memory = store.memory;
    this.numbers = store.numbers;
    this.attachments = store.attachments;
    this.origins = new Origins(store);
    this.clock = new Clock(store);
    this.digests = new Digests(store);
    this.lists = new VersionLists(store, this.digests);
    this.wheel = new Wheel(store);
    this.generations = new Generations(store, this.clock, this.wheel);
    this.ownGeneration = new OwnGeneration(store, this.clock, this.lists, this.generations, this.wheel);
    this.dropped = new DroppedComponents(store);
    this.unpublished = new Unpublished(store, this.clock, this.generations, this.ownGeneration);
    this.records = new Records(
      store,
      this.lists,
      this.generations,
      this.ownGeneration,
      this.wheel,
      this.dropped,
      this.unpublished,
    );
    this.garbageCollection = new GarbageCollection(this);
    this.expiry = new Expiry(this);
    this.growOnly = new GrowOnly(store);
  }

  static format(options: EngineOptions): Engine {
    const bytes = Math.max(options.maxMemoryBytes, SMALLEST_MEMORY_BYTES);
    const size = Math.floor(bytes / PAGE_BYTES) * PAGE_BYTES + BASE_BYTES;
    const buffer = options.shared ? new SharedArrayBuffer(size) : new ArrayBuffer(size);
    const store = Store.format(buffer, options.shardCount ?? DEFAULT_SHARDS, options.seed ?? 0);
    store.numbers[Header.graceMsNumber] = options.expiryGraceMs ?? 0;
    GrowOnly.format(store, options.growOnlyPrefixes ?? []);
    const engine = new Engine(store);
    assert(engine.origins.intern(options.origin) === OWN_ORIGIN, 'a store is its own first origin');
    engine.advanceTo(options.nowMs);
    for (let index = 0; index < store.shardCount; index++) engine.wheel.format(store.shardAt(index), engine.nowMs);
    return engine;
  }

  /** Another thread's view of the same store. One that is the only user of the store can do without locks. */
  static attach(buffer: StoreBuffer, options: { readonly exclusive?: boolean } = {}): Engine {
    return new Engine(Store.attach(buffer, options.exclusive ?? false));
  }

  /** Ends exclusive use, between two commands: from now on other threads may use the store too. */
  share(): void {
    this.store.share();
  }

  /** How long what has expired is kept, hidden, from now on; see EngineOptions. */
  setExpiryGraceMs(graceMs: number): void {
    this.numbers[Header.graceMsNumber] = graceMs;
  }

  /** From now on this node passes on what others changed: what they ended is kept until every peer knows. */
  startRelaying(): void {
    this.memory[Header.relays] = 1;
  }

  get isRelaying(): boolean {
    return this.memory[Header.relays] !== 0;
  }

  get nowMs(): number {
    return this.clock.nowMs;
  }

  /** How much of the buffer is in use, counted from its beginning: pages are taken from the front. */
  get committedBytes(): number {
    return BASE_BYTES + this.memory[Header.pagesUsed] * PAGE_BYTES;
  }

  get shardCount(): number {
    return this.store.shardCount;
  }

  advanceTo(nowMs: number): void {
    this.clock.advanceTo(nowMs);
  }

  // ---- one key ------------------------------------------------------------------------------------------------------

  open(input: ByteInput, start: number, length: number): boolean {
    if (isReservedKey(input, start, length)) return this.openForbidden(input, start, length);
    return this.openAny(input, start, length);
  }

  /** Opens also what is the system's own. */
  openAny(input: ByteInput, start: number, length: number): boolean {
    const store = this.store;
    store.hash.ofInput(input, start, length);
    const shard = store.shardOfHash();
    if (store.locking && this.lockDepth === 0) takeLock(this.memory, shard + Shard.lock);
    this.shard = shard;
    this.input = input;
    this.keyStart = start;
    this.keyLength = length;
    this.record = store.table.find(shard, input, start, length);
    this.load();
    return this.exists;
  }

  /** To a client a key of the system's own is not there, and cannot be made. */
  private openForbidden(input: ByteInput, start: number, length: number): boolean {
    this.openAny(input, start, length);
    this.record = 0;
    this.isForbidden = true;
    this.load();
    return false;
  }

  close(): void {
    this.isForbidden = false;
    if (this.store.locking && this.lockDepth === 0) giveLock(this.memory, this.shard + Shard.lock);
    this.shard = 0;
    this.record = 0;
  }

  /** After an error in mid-command: gives back every lock that this thread holds, so that the others go on. */
  releaseLocks(): void {
    if (this.lockDepth > 0) {
      this.lockDepth = 1;
      this.unlock();
    } else if (this.shard !== 0) {
      this.close();
    }
    this.shard = 0;
    this.record = 0;
  }

  /** Loads what a reader sees of the open key. */
  private load(): void {
    const memory = this.memory;
    const record = this.record;
    this.expiresAtMs = 0;
    if (record !== 0 && memory[record + Component.attachments] === 0) {
      this.exists = isPresent(memory, record);
      this.goesOn = this.exists;
      this.valueLow = memory[record + Component.positiveLow];
      this.valueHigh = memory[record + Component.positiveHigh];
    } else if (record !== 0) {
      this.loadWithAttachments();
    } else {
      this.exists = false;
      this.goesOn = false;
      this.valueLow = 0;
      this.valueHigh = 0;
    }
  }

  private loadWithAttachments(): void {
    const { memory, attachments, record } = this;
    const nowMs = this.clock.nowMs;
    this.exists = isPresent(memory, record);
    this.goesOn = this.exists;
    let low = memory[record + Component.positiveLow];
    let high = memory[record + Component.positiveHigh];
    let wide = false;
    for (let at = memory[record + Component.attachments]; at !== 0; at = memory[at]) {
      const kind = attachments.kindOf(at);
      if (kind === Kind.expiry) {
        const expiresAt = this.exists ? attachments.numberAt(at, 2) : 0;
        this.expiresAtMs = expiresAt;
        if (expiresAt !== 0 && expiresAt <= nowMs) {
          this.exists = false;
          this.goesOn = false;
          this.expiresAtMs = 0;
        }
      } else if (kind === Kind.negative) {
        const before = low;
        low = (low - memory[at + 2]) | 0;
        high = (high - memory[at + 3] - (before >>> 0 < memory[at + 2] >>> 0 ? 1 : 0)) | 0;
      } else if (kind === Kind.summary) {
        if (!this.exists) {
          low = 0;
          high = 0;
        }
        if (attachments.numberAt(at, 6) <= nowMs) this.refreshSummary(at);
        if (memory[at + 3] > 0 && !this.exists) this.loadForeignExpiry();
        if (memory[at + 3] > 0) this.exists = true;
        low = (low + memory[at + 4]) | 0;
        high = (high + memory[at + 5] + (low >>> 0 < memory[at + 4] >>> 0 ? 1 : 0)) | 0;
        wide =
          (attachments.extraOf(at) & SummaryFlag.wide) !== 0 ||
          isLarge(memory[record + Component.positiveHigh]) ||
          this.isNegativeLarge();
      } else if (kind === Kind.unpublished) {
        // Only where there is no component: the rest of the value is 0.
        const untilMs = attachments.numberAt(at, 4);
        if (untilMs > nowMs) {
          this.exists = true;
          this.expiresAtMs = untilMs;
          low = memory[at + 2];
          high = memory[at + 3];
        }
      }
    }
    if (wide) this.goesOn = false;
    if (!this.exists) {
      low = 0;
      high = 0;
    } else if (wide) {
      const value = this.exactValue();
      low = lowHalf(value);
      high = highHalf(value);
    }
    this.valueLow = low;
    this.valueHigh = high;
  }

  private refreshSummary(summary: number): void {
    this.generations.refresh(this.shard, this.record);
    this.records.count(this.shard, this.record, isPresent(this.memory, this.record) || this.memory[summary + 3] > 0);
  }

  private loadForeignExpiry(): void {
    const ruler = this.generations.ruler(this.record);
    this.expiresAtMs = ruler === 0 ? 0 : this.generations.expiresAt(ruler);
  }

  private isNegativeLarge(): boolean {
    const negative = this.attachments.find(this.record, Kind.negative);
    return negative !== 0 && isLarge(this.memory[negative + 3]);
  }

  /** Regions that each stay in range can leave it together: what a reader sees is then the nearest 64-bit value. */
  private exactValue(): bigint {
    const { record, generations } = this;
    const own = generations.isOwnAlive(record) ? generations.positiveOf(record) - generations.negativeOf(record) : 0n;
    const value = own + generations.foreignTotal(record).total;
    return value > INT64_MAX ? INT64_MAX : value < INT64_MIN ? INT64_MIN : value;
  }

  /** What other origins add to the value of the open key; the rest is this node's own. */
  foreignValue(): bigint {
    return this.record === 0 ? 0n : this.generations.foreignTotal(this.record).total;
  }

  /** Adds a signed amount. On any status but Ok nothing has changed. */
  add(amountHigh: number, amountLow: number): Status {
    const memory = this.memory;
    const low = (this.valueLow + amountLow) | 0;
    const high = (this.valueHigh + amountHigh + (low >>> 0 < amountLow >>> 0 ? 1 : 0)) | 0;
    if (((this.valueHigh ^ high) & (amountHigh ^ high)) < 0) return Status.Overflow;
    if (!this.goesOn || amountHigh < 0) return this.addWithCare(amountHigh, amountLow);
    // This node's own generation, going on: P grows, and so does the value, by as much. What others add to it stays as it is.
    const record = this.record;
    const positiveLow = (memory[record + Component.positiveLow] + amountLow) | 0;
    const carry = positiveLow >>> 0 < amountLow >>> 0 ? 1 : 0;
    const before = memory[record + Component.positiveHigh];
    const positiveHigh = (before + amountHigh + carry) | 0;
    if (positiveHigh >>> 0 < before >>> 0) return this.addWithCare(amountHigh, amountLow);
    const own = this.store.originShardAt(OWN_ORIGIN, this.shard);
    this.lists.beforeChange(own, record);
    memory[record + Component.positiveLow] = positiveLow;
    memory[record + Component.positiveHigh] = positiveHigh;
    this.lists.stamp(own, record, this.clock.nowVersion);
    this.valueLow = low;
    this.valueHigh = high;
    return Status.Ok;
  }

  private addWithCare(amountHigh: number, amountLow: number): Status {
    if (amountHigh < 0 && this.isGrowOnly()) return Status.GrowOnly;
    this.publish();
    const status = this.ensureRecord();
    if (status !== Status.Ok) return status;
    const { memory, shard, record } = this;
    const begins = !this.generations.isOwnAlive(record);
    let sum = record + Component.positiveLow;
    if (amountHigh < 0) {
      const attachment = this.attachments.ensure(shard, record, Kind.negative);
      if (attachment === 0) return this.abandon(Status.OutOfMemory);
      sum = attachment + 2;
      amountHigh = ~amountHigh + (amountLow === 0 ? 1 : 0);
      amountLow = -amountLow | 0;
    }
    this.ownGeneration.before(shard, record);
    const folds = !begins && wouldOverflow(memory, sum, amountHigh, amountLow);
    if (begins && !this.ownGeneration.begin(shard, record)) return this.giveUp();
    if (folds) this.ownGeneration.beginFolded(shard, record);
    const low = (memory[sum] + amountLow) | 0;
    const carry = low >>> 0 < amountLow >>> 0 ? 1 : 0;
    memory[sum] = low;
    memory[sum + 1] = (memory[sum + 1] + amountHigh + carry) | 0;
    this.ownGeneration.stamp(shard, record);
    if (begins || folds) this.settle();
    this.load();
    return Status.Ok;
  }

  /** Observed reset, then this value. */
  assign(valueHigh: number, valueLow: number, keepExpiry: boolean): Status {
    if (this.isGrowOnly()) return Status.GrowOnly;
    this.publish();
    const status = this.ensureRecord();
    if (status !== Status.Ok) return status;
    const { memory, shard, record } = this;
    const negative = valueHigh < 0 ? this.attachments.ensure(shard, record, Kind.negative) : 0;
    if (valueHigh < 0 && negative === 0) return this.abandon(Status.OutOfMemory);
    const expiresAtMs = keepExpiry ? this.expiresAtMs : 0;
    this.ownGeneration.before(shard, record);
    const hasForeign = this.generations.firstForeign(record) !== 0;
    // Others may have taken over the expiry that ends here, in generations this node has not heard of yet.
    const wasTold = this.generations.decidedAt(record) !== 0 && !this.isAlone(shard);
    if (hasForeign && !this.ownGeneration.cancelForeign(shard, record)) return this.giveUp();
    const version = this.ownGeneration.nextDecision(shard, record);
    if (!this.ownGeneration.begin(shard, record)) return this.giveUp();
    const decided = expiresAtMs !== 0 || hasForeign || wasTold ? version : 0;
    if (!this.ownGeneration.decide(shard, record, expiresAtMs, decided)) return this.giveUp();
    if (valueHigh < 0) {
      memory[negative + 2] = -valueLow | 0;
      memory[negative + 3] = ~valueHigh + (valueLow === 0 ? 1 : 0);
    } else {
      memory[record + Component.positiveLow] = valueLow;
      memory[record + Component.positiveHigh] = valueHigh;
    }
    this.ownGeneration.stamp(shard, record);
    this.settle();
    this.load();
    return Status.Ok;
  }

  /** Observed reset: what this node has seen of the key is cancelled, what it has not seen survives. */
  remove(): Status {
    if (!this.exists) return Status.Ok;
    if (this.isGrowOnly()) return Status.GrowOnly;
    const status = this.removeLoaded();
    if (status === Status.Ok) this.load();
    return status;
  }

  private removeLoaded(): Status {
    const { shard, record } = this;
    this.unpublished.discard(shard, record);
    if (this.unpublished.hasNoComponents(record)) {
      this.settle();
      return Status.Ok;
    }
    if (this.generations.firstForeign(record) === 0 && this.isAlone(shard)) {
      this.records.dropOwn(shard, record);
    } else {
      this.ownGeneration.before(shard, record);
      if (!this.ownGeneration.cancelForeign(shard, record)) return this.giveUp();
      this.ownGeneration.end(shard, record);
      this.ownGeneration.stamp(shard, record);
    }
    this.settle();
    return Status.Ok;
  }

  /** The same for a record's key, of a namespace that is not grow-only. Its lock is held, and no key is open. */
  removeRecord(shard: number, record: number): void {
    if (!this.isVisible(shard, record)) return;
    this.shard = shard;
    this.record = record;
    this.removeLoaded();
    this.shard = 0;
    this.record = 0;
  }

  expireAt(atMs: number): Status {
    if (!this.exists) return Status.Ok;
    if (atMs <= this.clock.nowMs) return this.remove();
    this.publish();
    const { memory, shard, record } = this;
    const attachment = this.attachments.ensure(shard, record, Kind.expiry);
    if (attachment === 0) return Status.OutOfMemory;
    this.ownGeneration.before(shard, record);
    if (!this.generations.isOwnAlive(record) && !this.ownGeneration.begin(shard, record)) return this.giveUp();
    // An expiry must lie behind the birth of every generation it is to end, also of one dated by a clock ahead of ours.
    let expiresAt = atMs;
    for (let at = this.generations.firstForeign(record); at !== 0; at = memory[at + Component.foreignSibling]) {
      expiresAt = Math.max(expiresAt, this.generations.bornMs(at) + 1);
    }
    this.ownGeneration.decide(shard, record, expiresAt, this.ownGeneration.nextDecision(shard, record));
    this.ownGeneration.stamp(shard, record);
    this.settle();
    this.load();
    return Status.Ok;
  }

  persist(): Status {
    if (!this.exists || this.expiresAtMs === 0) return Status.Ok;
    this.publish();
    const { shard, record } = this;
    this.ownGeneration.before(shard, record);
    if (!this.generations.isOwnAlive(record) && !this.ownGeneration.begin(shard, record)) return this.giveUp();
    const decided =
      this.isAlone(shard) && this.generations.firstForeign(record) === 0
        ? 0
        : this.ownGeneration.nextDecision(shard, record);
    this.ownGeneration.decide(shard, record, 0, decided);
    this.ownGeneration.stamp(shard, record);
    this.settle();
    this.load();
    return Status.Ok;
  }

  /** Whether nobody, here or elsewhere, has said anything of the open key yet: what is counted in it can be unpublished. */
  get hasNoComponents(): boolean {
    return this.record === 0 || this.unpublished.hasNoComponents(this.record);
  }

  /** Whether something of the open key is unpublished, and counts. */
  get isUnpublished(): boolean {
    return this.exists && this.unpublished.has(this.record);
  }

  /**
   * Adds an amount, from 0 on, to the open key, which is untold, and tells nobody: neither peers nor the disk. It counts on this node, and
   * can be published, until that time, or the time given before if that is later; published, it expires at the other one, which may lie
   * later. On any status but Ok nothing has changed.
   */
  addUnpublished(amountHigh: number, amountLow: number, untilMs: number, expiresAtMs = untilMs): Status {
    const low = (this.valueLow + amountLow) | 0;
    const high = (this.valueHigh + amountHigh + (low >>> 0 < amountLow >>> 0 ? 1 : 0)) | 0;
    if (((this.valueHigh ^ high) & (amountHigh ^ high)) < 0) return Status.Overflow;
    const status = this.ensureRecord();
    if (status !== Status.Ok) return status;
    const { shard, record } = this;
    if (!this.unpublished.add(shard, record, amountHigh, amountLow, untilMs, expiresAtMs))
      return this.abandon(Status.OutOfMemory);
    if (!this.exists) this.records.count(shard, record, true);
    this.exists = true;
    this.goesOn = false;
    this.valueLow = low;
    this.valueHigh = high;
    this.expiresAtMs = this.unpublished.untilMs(record);
    return Status.Ok;
  }

  /** The same for a key of which something is unpublished, and counts, already: at the times that were given then. */
  addMoreUnpublished(amountHigh: number, amountLow: number): Status {
    const low = (this.valueLow + amountLow) | 0;
    const high = (this.valueHigh + amountHigh + (low >>> 0 < amountLow >>> 0 ? 1 : 0)) | 0;
    if (((this.valueHigh ^ high) & (amountHigh ^ high)) < 0) return Status.Overflow;
    this.unpublished.addMore(this.record, amountHigh, amountLow);
    this.valueLow = low;
    this.valueHigh = high;
    return Status.Ok;
  }

  /** Tells others what was unpublished of the open key, if anything was. */
  publish(): void {
    if (this.record === 0 || !this.unpublished.has(this.record)) return;
    this.unpublished.publish(this.shard, this.record);
    this.settle();
    this.load();
  }

  /** What this node itself has added to the open key in its present generation, and what it has taken away. */
  get ownAdded(): number {
    if (this.record === 0 || !this.generations.isOwnAlive(this.record)) return 0;
    const { memory, record } = this;
    return (
      (memory[record + Component.positiveHigh] >>> 0) * TWO_POW_32 + (memory[record + Component.positiveLow] >>> 0)
    );
  }

  get ownTaken(): number {
    if (this.record === 0 || !this.generations.isOwnAlive(this.record)) return 0;
    const negative = this.attachments.find(this.record, Kind.negative);
    if (negative === 0) return 0;
    return (this.memory[negative + 3] >>> 0) * TWO_POW_32 + (this.memory[negative + 2] >>> 0);
  }

  /** The version of this node's own component of the open key, and the shard it is in: when it is on disk, it can be told. */
  get ownVersion(): number {
    return this.record === 0 ? 0 : versionOf(this.memory, this.record);
  }

  get openShardIndex(): number {
    return this.store.shardIndexOf(this.shard);
  }

  /** The open key's local balance, or 0; made if there is none, unless memory is full. The key exists. */
  localBalance(isMade: boolean): number {
    if (this.record === 0) return 0;
    const found = this.attachments.find(this.record, Kind.localBalance);
    return found !== 0 || !isMade ? found : this.attachments.add(this.shard, this.record, Kind.localBalance);
  }

  memoryUsageBytes(): number {
    if (!this.exists) return 0;
    const memory = this.memory;
    const record = this.record;
    let bytes = Slab.footprintBytes(keyWords(keyLengthOf(memory, record)));
    for (let holder = record; holder !== 0; holder = this.generations.nextComponent(record, holder)) {
      if (holder !== record) bytes += Slab.footprintBytes(FOREIGN_WORDS);
      for (let at = memory[holder + Component.attachments]; at !== 0; at = memory[at]) {
        bytes += Attachments.footprintBytes(this.attachments.kindOf(at) as Kind);
      }
    }
    return bytes;
  }

  private isGrowOnly(): boolean {
    return this.growOnly.covers(this.input!, this.keyStart, this.keyLength);
  }

  /** No peer and no disk has to be told what is gone from a shard. */
  isAlone(shard: number): boolean {
    return this.numbers[(shard >>> 1) + Shard.acknowledgedNumber] === Number.POSITIVE_INFINITY;
  }

  // ---- the open key's record ----------------------------------------------------------------------------------------

  private ensureRecord(): Status {
    if (this.record !== 0) return Status.Ok;
    if (this.isForbidden) return Status.Reserved;
    if (this.keyLength > Engine.MAX_KEY_BYTES) return Status.KeyTooLong;
    this.record = this.records.make(this.shard, this.input!, this.keyStart, this.keyLength);
    return this.record === 0 ? Status.OutOfMemory : Status.Ok;
  }

  /** After any change to the open key but the plainest: summary, wheel and counts, and the record goes if it is empty. */
  private settle(): void {
    if (this.records.refreshKey(this.shard, this.record)) this.record = 0;
  }

  /** A new record may have been made for a change that then failed; nothing of it may stay. */
  private abandon(status: Status): Status {
    this.settle();
    this.load();
    return status;
  }

  /** Even the reserve is used up in mid-change: what was done is stamped, so that the component stays a true one. */
  private giveUp(): Status {
    this.ownGeneration.stamp(this.shard, this.record);
    return this.abandon(Status.OutOfMemory);
  }

  // ---- locks --------------------------------------------------------------------------------------------------------

  /** Until `unlock`, nothing else on this node changes or reads anything. Calls nest. */
  lockAll(): void {
    if (this.lockDepth++ > 0 || !this.store.locking) return;
    for (let index = 0; index < this.shardCount; index++) this.heldShards[index >>> 5] |= 1 << (index & 31);
    this.takeHeld();
  }

  /** The same for these keys: one in each step of the arguments from `first` to before `end`. No other may be opened. */
  lockKeys(input: ByteInput, starts: Int32Array, lengths: Int32Array, first: number, end: number, step: number): void {
    if (this.lockDepth++ > 0 || !this.store.locking) return;
    const { store, heldShards } = this;
    for (let key = first; key < end; key += step) {
      store.hash.ofInput(input, starts[key], lengths[key]);
      const index = store.shardIndexOf(store.shardOfHash());
      heldShards[index >>> 5] |= 1 << (index & 31);
    }
    this.takeHeld();
  }

  unlock(): void {
    assert(this.lockDepth > 0, 'unlock follows lockAll or lockKeys');
    if (--this.lockDepth > 0 || !this.store.locking) return;
    const { memory, store, heldShards } = this;
    for (let index = 0; index < this.shardCount; index++) {
      if ((heldShards[index >>> 5] & (1 << (index & 31))) !== 0) giveLock(memory, store.shardAt(index) + Shard.lock);
    }
    heldShards.fill(0);
  }

  /** Always in the same order, so that threads never wait for each other in a circle. */
  private takeHeld(): void {
    const { memory, store, heldShards } = this;
    for (let index = 0; index < this.shardCount; index++) {
      if ((heldShards[index >>> 5] & (1 << (index & 31))) !== 0) takeLock(memory, store.shardAt(index) + Shard.lock);
    }
  }

  withShard<T>(shard: number, work: () => T): T {
    const lock = this.store.locking && this.lockDepth === 0;
    if (lock) takeLock(this.memory, shard + Shard.lock);
    try {
      return work();
    } finally {
      if (lock) giveLock(this.memory, shard + Shard.lock);
    }
  }

  // ---- all keys -----------------------------------------------------------------------------------------------------

  keyCount(): number {
    let keys = 0;
    for (let index = 0; index < this.shardCount; index++) keys += this.memory[this.store.shardAt(index) + Shard.keys];
    return keys;
  }

  scan(cursor: bigint, count: number, visit: (key: Uint8Array) => void): bigint {
    return scanKeys(this, cursor, count, visit);
  }

  /** `entropy` in [0, 1) chooses the key: the engine itself has no randomness. */
  randomKey(entropy: number): Uint8Array | undefined {
    return randomKey(this, entropy);
  }

  /** Observed reset of everything; keys of grow-only namespaces stay. */
  removeAll(): void {
    removeAll(this);
  }

  /** The key of a record, copied out. */
  keyOf(record: number): Uint8Array {
    const start = (record + Component.key) * 4;
    return Uint8Array.prototype.slice.call(this.store.bytes, start, start + keyLengthOf(this.memory, record));
  }

  /** Whether a reader sees the key of a record. The shard's lock is held, and no key is open. */
  isVisible(shard: number, record: number): boolean {
    if (isReservedRecord(this.memory, record)) return false;
    this.shard = shard;
    this.record = record;
    this.load();
    this.shard = 0;
    this.record = 0;
    return this.exists;
  }

  /** Drops expired keys, a bounded number a call; returns how many steps of work it did. */
  expireSome(limit: number): number {
    return this.expiry.expireSome(limit);
  }

  stats(): EngineStats {
    return statsOf(this.store);
  }

  // ---- for peers and disk -------------------------------------------------------------------------------------------

  /** Everybody holds this node's changes of a shard up to this version: what is over by then is forgotten. */
  acknowledge(shardIndex: number, version: number): void {
    this.garbageCollection.acknowledge(shardIndex, version);
  }

  /** Says once more, as a new change, what this node's own component of a key says: somebody has lost it. */
  restate(key: Uint8Array): boolean {
    const input = ByteInput.copyOf(key);
    this.openAny(input, 0, key.length);
    const { shard, record } = this;
    const isHeld = record !== 0 && versionOf(this.memory, record) !== 0;
    if (isHeld) {
      this.ownGeneration.before(shard, record);
      this.ownGeneration.stamp(shard, record);
    }
    this.close();
    return isHeld;
  }

  /** Takes what was let go and the disk was not told yet, at most `limit` from a shard. */
  takeDropped(shardIndex: number, limit: number): DroppedComponent[] {
    const shard = this.store.shardAt(shardIndex);
    if (this.memory[shard + Shard.dropped] === 0) return [];
    return this.withShard(shard, () => this.dropped.take(shard, limit, (origin) => this.origins.idOf(origin)));
  }

  /** Counts this view's own changes, wrapping; the same number before and after means that there was none. */
  get changes(): number {
    return this.lists.changes;
  }

  /** A 64-bit digest of all that this node holds of an origin in a shard, as two halves in hexadecimal. */
  digestOf(shardIndex: number, origin: number): string {
    return this.digestAt(shardIndex, origin).digest;
  }

  /** The same with the watermark that it belongs to. */
  digestAt(shardIndex: number, origin: number): { readonly version: number; readonly digest: string } {
    const shard = this.store.shardAt(shardIndex);
    const state = this.store.originShardAt(origin, shard);
    return this.withShard(shard, () => {
      this.lists.order(state);
      const digest = this.digests.read(state);
      return { version: this.numbers[(state >>> 1) + OriginShard.seenNumber], digest };
    });
  }

  /** Up to which version of an origin this node holds everything: its own sequence, or a watermark. */
  seen(shardIndex: number, origin: number): number {
    const state = this.store.originShardAt(origin, this.store.shardAt(shardIndex));
    return this.numbers[(state >>> 1) + OriginShard.seenNumber];
  }
}

/** Whether the unsigned sum at this address cannot take the amount. */
function wouldOverflow(memory: Int32Array, sum: number, amountHigh: number, amountLow: number): boolean {
  const carry = (memory[sum] >>> 0) + (amountLow >>> 0) >= TWO_POW_32 ? 1 : 0;
  return (memory[sum + 1] >>> 0) + (amountHigh >>> 0) + carry >= TWO_POW_32;
}

/** 2^62 and more: two such numbers can leave 64 bits together. */
function isLarge(high: number): boolean {
  return (high & 0xc0000000) !== 0;
}
