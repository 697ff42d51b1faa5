import type { DroppedComponent } from '../components/dropped-components.js';
import { assert } from '../memory/assert.js';
import { Kind } from '../memory/attachments.js';
import { ByteInput } from '../memory/byte-input.js';
import { keyBytesOf } from '../memory/key-bytes.js';
import {
  BASE_BYTES,
  DEFAULT_SHARDS,
  HASH_SECRET_BYTES,
  HeaderNumber,
  HeaderWord,
  OriginShardNumber,
  OWN_ORIGIN,
  PAGE_BYTES,
  ShardWord,
} from '../memory/layout.js';
import { MAX_STORE_BYTES } from '../memory/link.js';
import { versionOf } from '../memory/record.js';
import { Store, type StoreBuffer, type StoreUse } from '../memory/store.js';
import { Expiry } from './expiry.js';
import { GarbageCollection } from './garbage-collection.js';
import { GrowOnly } from './grow-only.js';
import { KeyChanges, MAX_KEY_BYTES } from './key-changes.js';
import { randomKey, removeAll, removeEvery, scanKeys, scanReserved, visitReserved } from './keyspace.js';
import { type DatabaseStats, databaseStatsOf, type EngineStats, statsOf } from './stats.js';

export interface EngineOptions {
  /** The ceiling: everything the store will ever use is reserved, not committed, at this size. */
  readonly maxMemoryBytes: number;
  /** Address space beside it that only a restore uses: the same keys may lie less densely after a restart. */
  readonly spareBytes?: number;
  /** On a SharedArrayBuffer several threads can attach; on a plain one there is one user, and no locks. */
  readonly shared?: boolean;
  readonly shardCount?: number;
  /** This node: 16 bytes of replica id, 16 of incarnation. */
  readonly origin: Uint8Array;
  readonly nowMs: number;
  /** HASH_SECRET_BYTES random bytes, so that clients cannot choose keys that collide; zeros for tests and tools. */
  readonly hashSecret?: Uint8Array;
  /** How long expired generations stay, hidden, for late changes: longer than clocks can differ; 0 without peers. */
  readonly expiryGraceMs?: number;
  readonly growOnlyPrefixes?: readonly string[];
  /** For tests: pages are taken from here on, so that addresses are high in a store that is nearly empty. */
  readonly pagesFromByte?: number;
}

const NO_DROPPED: readonly DroppedComponent[] = [];
const NO_SECRET = new Uint8Array(HASH_SECRET_BYTES);

const SMALLEST_MEMORY_BYTES = 4 * 1024 * 1024;

/**
 * The store as a thread uses it. Commands open a key, change it and close it (open-key.ts, key-changes.ts); this class
 * adds the operations on all keys, and those that peers and disk use.
 */
export class Engine extends KeyChanges {
  static readonly MAX_KEY_BYTES = MAX_KEY_BYTES;

  readonly garbageCollection: GarbageCollection;
  readonly expiry: Expiry;

  private constructor(store: Store) {
    super(store);
    this.garbageCollection = new GarbageCollection(this);
    this.expiry = new Expiry(this);
  }

  static format(options: EngineOptions): Engine {
    const bytes = Math.max(options.maxMemoryBytes, SMALLEST_MEMORY_BYTES);
    if (bytes > MAX_STORE_BYTES) throw new RangeError(`a store has at most ${MAX_STORE_BYTES} bytes, not ${bytes}`);
    const spareBytes = Math.min(options.spareBytes ?? 0, MAX_STORE_BYTES - bytes);
    const size = Math.floor((bytes + spareBytes) / PAGE_BYTES) * PAGE_BYTES + BASE_BYTES;
    const store = Store.format(reserve(size, options.shared ?? false), {
      shardCount: options.shardCount ?? DEFAULT_SHARDS,
      hashSecret: options.hashSecret ?? NO_SECRET,
      pagesFromByte: options.pagesFromByte ?? 0,
      spareBytes,
    });
    store.numbers[HeaderNumber.graceMs] = options.expiryGraceMs ?? 0;
    GrowOnly.format(store, options.growOnlyPrefixes ?? []);
    const engine = new Engine(store);
    assert(engine.origins.intern(options.origin) === OWN_ORIGIN, 'a store is its own first origin');
    engine.advanceTo(options.nowMs);
    for (let index = 0; index < store.shardCount; index++) engine.wheel.format(store.shardAt(index), engine.nowMs);
    return engine;
  }

  /** Another thread's view of the same store. One that is the only user of the store can do without locks. */
  static attach(buffer: StoreBuffer, use: StoreUse = 'shared'): Engine {
    const engine = new Engine(Store.attach(buffer, use));
    if (use === 'resident') engine.reside();
    return engine;
  }

  get buffer(): StoreBuffer {
    return this.store.buffer;
  }

  /** Ends exclusive use and residence, between two commands: from now on other threads may use the store as this one. */
  share(): void {
    this.endResiding();
    this.store.share();
  }

  /** Before work that may take long: where this thread is the resident, others would wait for the end of all of it. */
  endResidence(): void {
    if (this.isResident) this.share();
  }

  get nowMs(): number {
    return this.clock.nowMs;
  }

  advanceTo(nowMs: number): void {
    this.clock.advanceTo(nowMs);
  }

  /** From now on, see EngineOptions. */
  setExpiryGraceMs(graceMs: number): void {
    this.store.numbers[HeaderNumber.graceMs] = graceMs;
  }

  // ---- all keys -----------------------------------------------------------------------------------------------------

  keyCount(): number {
    let keys = 0;
    for (let index = 0; index < this.shardCount; index++)
      keys += this.memory[this.store.shardAt(index) + ShardWord.keys];
    return keys;
  }

  scan(cursor: bigint, count: number, visit: (key: Uint8Array) => void): bigint {
    return scanKeys(this, cursor, count, visit);
  }

  /** A page of the reserved keys, as `scan` has it of the others; expired ones too. */
  scanReserved(cursor: bigint, count: number, visit: (key: Uint8Array) => void): bigint {
    return scanReserved(this, cursor, count, visit);
  }

  /** Every reserved key: those that no client sees. */
  visitReserved(visit: (key: Uint8Array) => void): void {
    visitReserved(this, visit);
  }

  /** `entropy` in [0, 1) chooses the key: the engine itself has no randomness. */
  randomKey(entropy: number): Uint8Array | undefined {
    return randomKey(this, entropy);
  }

  /** Observed reset of every key; those of grow-only namespaces stay. */
  removeAll(): void {
    removeAll(this);
  }

  /** The same for the keys that `isMeant` chooses. */
  removeSome(isMeant: (key: Uint8Array) => boolean): void {
    this.lockAll();
    removeEvery(this, isMeant);
    this.unlock();
  }

  /** The key of a record, copied out. */
  keyOf(record: number): Uint8Array {
    return keyBytesOf(this.memory, record);
  }

  /** Drops expired keys, a bounded number a call; returns how many steps of work it did. */
  expireSome(limit: number): number {
    return this.expiry.expireSome(limit);
  }

  stats(): EngineStats {
    return statsOf(this.store);
  }

  databaseStats(database: number): DatabaseStats {
    return databaseStatsOf(this.store, database);
  }

  /** The part of the buffer that is in use, counted from its beginning: pages are taken from the front. */
  get committedBytes(): number {
    return BASE_BYTES + this.memory[HeaderWord.pagesUsed] * PAGE_BYTES;
  }

  // ---- for peers and disk -------------------------------------------------------------------------------------------

  /**
   * From now on this node passes on changes of other origins: components they ended stay until every peer has seen
   * them.
   */
  startRelaying(): void {
    this.memory[HeaderWord.relays] = 1;
  }

  get isRelaying(): boolean {
    return this.memory[HeaderWord.relays] !== 0;
  }

  /** Regions that count here too, this one among them: at least two where there are peers. */
  get regionCount(): number {
    return Math.max(this.memory[HeaderWord.regionCount], this.isRelaying ? 2 : 1);
  }

  setRegionCount(count: number): void {
    this.memory[HeaderWord.regionCount] = count;
  }

  /** From now on, in all threads, counts that stay unpublished are published at once; or not any more. */
  setPublishesAll(publishesAll: boolean): void {
    Atomics.store(this.memory, HeaderWord.publishesAll, publishesAll ? 1 : 0);
  }

  /** How long counts of other regions are on their way to this node; 0 while no region is connected. */
  get countDelayMs(): number {
    return this.memory[HeaderWord.countDelayMs];
  }

  setCountDelay(milliseconds: number): void {
    this.memory[HeaderWord.countDelayMs] = milliseconds;
  }

  /**
   * Every peer and the disk hold this node's changes of a shard up to this version: what had ended by then is
   * collected.
   */
  acknowledge(shardIndex: number, version: number): void {
    this.garbageCollection.acknowledge(shardIndex, version);
  }

  /** Whether a component of a shard resets generations of other origins. */
  hasResets(shardIndex: number): boolean {
    return this.store.attachments.countOf(this.store.shardAt(shardIndex), Kind.cancel) > 0;
  }

  /** Stamps this node's own component of a key anew, so that it is sent again: a peer has lost it. */
  restate(key: Uint8Array): boolean {
    this.openAny(ByteInput.copyOf(key), 0, key.length);
    const { shard, record } = this;
    const isHeld = record !== 0 && versionOf(this.memory, record) !== 0;
    if (isHeld) {
      this.ownGeneration.before(shard, record);
      this.ownGeneration.stamp(shard, record);
    }
    this.close();
    return isHeld;
  }

  /** Takes notes about dropped components that the disk does not have yet, at most `limit` from a shard. */
  takeDropped(shardIndex: number, limit: number): readonly DroppedComponent[] {
    const shard = this.store.shardAt(shardIndex);
    if (this.memory[shard + ShardWord.dropped] === 0) return NO_DROPPED;
    return this.withShard(shard, () => this.dropped.take(shard, limit, (origin) => this.origins.idOf(origin)));
  }

  /** Counts this view's own changes, wrapping; the same number before and after means that there was none. */
  get changes(): number {
    return this.lists.changes;
  }

  /** A 64-bit digest of all that this node holds of an origin in a shard, as 16 hexadecimal digits. */
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
      return { version: this.store.numbers[(state >>> 1) + OriginShardNumber.seen], digest };
    });
  }

  /** Up to which version of an origin this node holds everything: its own sequence, or a watermark. */
  seen(shardIndex: number, origin: number): number {
    const state = this.store.originShardOf(origin, shardIndex);
    return this.store.numbers[(state >>> 1) + OriginShardNumber.seen];
  }
}

/** Address space, not memory: a page of it takes memory once it is written to. */
function reserve(bytes: number, shared: boolean): StoreBuffer {
  try {
    return shared ? new SharedArrayBuffer(bytes) : new ArrayBuffer(bytes);
  } catch (error) {
    const message = `the system does not give ${bytes} bytes of address space for the store: use less (--max-memory)`;
    throw new RangeError(message, { cause: error });
  }
}
