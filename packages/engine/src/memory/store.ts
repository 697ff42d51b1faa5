import { assert } from './assert.js';
import { Attachments } from './attachments.js';
import type { ByteInput } from './byte-input.js';
import { KeyHash } from './hash.js';
import {
  BASE_BYTES,
  CURSORS,
  HASH_SECRET_BYTES,
  HASH_SECRET_WORDS,
  HeaderWord,
  LAYOUT_VERSION,
  MAGIC,
  MAX_SHARDS,
  ORIGIN_SHARD_SHIFT,
  ORIGIN_SLOT_WORDS,
  OriginShardWord,
  OWN_ORIGIN,
  PAGE_BYTES,
  PAGE_WORDS,
  type Regions,
  regionsOf,
  SHARD_SHIFT,
  SHARD_WORDS,
  ShardNumber,
  ShardWord,
} from './layout.js';
import { Pages } from './pages.js';
import { Slab } from './slab.js';
import { Stems } from './stems.js';
import { Table } from './table.js';

/** A directory, a page of buckets and one of records: less than that, and a shard cannot hold a single key. */
const SMALLEST_SHARD_PAGES = 3;

export type StoreBuffer = ArrayBuffer | SharedArrayBuffer;

export interface StoreOptions {
  readonly shardCount: number;
  readonly hashSecret: Uint8Array;
  /** See EngineOptions. */
  readonly pagesFromByte: number;
  readonly spareBytes: number;
}

/** How a thread uses a store: alone, with other threads, or with others as the resident (store-lock.ts). */
export type StoreUse = 'exclusive' | 'shared' | 'resident';

/** One thread's views on the shared buffer, and the allocators and tables that work through them. */
export class Store {
  readonly buffer: StoreBuffer;
  readonly memory: Int32Array;
  /** The regions in front of the pages. */
  readonly fixedBytes: Uint8Array;
  readonly numbers: Float64Array;
  /** Locks of shards are taken only where another thread can be there too. */
  locking: boolean;
  /** Other threads use the store too; where this one keeps the lock of the store, it takes none of shards. */
  isShared: boolean;
  readonly shardCount: number;
  private readonly shardShift: number;
  readonly regions: Regions;
  readonly pages: Pages;
  readonly slab: Slab;
  readonly hash: KeyHash;
  readonly stems: Stems;
  readonly table: Table;
  readonly attachments: Attachments;

  private constructor(buffer: StoreBuffer, shardCount: number, use: StoreUse) {
    this.buffer = buffer;
    const bytes = buffer.byteLength - BASE_BYTES;
    this.memory = new Int32Array(buffer, BASE_BYTES, Math.floor(bytes / 4));
    this.numbers = new Float64Array(buffer, BASE_BYTES, Math.floor(bytes / 8));
    this.locking = buffer instanceof SharedArrayBuffer && use === 'shared';
    this.isShared = buffer instanceof SharedArrayBuffer && use !== 'exclusive';
    this.shardCount = shardCount;
    this.shardShift = (Math.clz32(shardCount) + 1) & 31;
    this.regions = regionsOf(bytes, shardCount);
    this.fixedBytes = new Uint8Array(buffer, BASE_BYTES, Math.min(this.regions.firstPage * PAGE_BYTES, bytes));
    this.pages = new Pages(this.memory, this.regions.pageBitmap, this.isShared);
    this.slab = new Slab(this.memory, this.pages);
    this.hash = new KeyHash(this.memory.slice(HeaderWord.hashSecret, HeaderWord.hashSecret + HASH_SECRET_WORDS));
    this.stems = new Stems(this.memory, this.slab);
    this.table = new Table(this.memory, this.pages, this.slab, this.hash);
    this.attachments = new Attachments(this.memory, this.numbers, this.slab, this.regions.originSlots);
  }

  static format(buffer: StoreBuffer, { shardCount, hashSecret, pagesFromByte, spareBytes }: StoreOptions): Store {
    assert(new Uint8Array(Uint32Array.of(1).buffer)[0] === 1, 'the machine is little-endian');
    assert(
      shardCount > 0 && shardCount <= MAX_SHARDS && (shardCount & (shardCount - 1)) === 0,
      'shards are a power of 2',
    );
    assert(hashSecret.length === HASH_SECRET_BYTES, 'the secret of the hash has 128 bits');
    new Uint8Array(buffer, BASE_BYTES, PAGE_BYTES).set(hashSecret, HeaderWord.hashSecret * 4);
    const store = new Store(buffer, shardCount, 'shared');
    const { memory, numbers, regions } = store;
    assert(memory[HeaderWord.magic] === 0, 'a store is formatted once, on zeroed memory');
    const pagesNeeded = regions.firstPage + shardCount * SMALLEST_SHARD_PAGES;
    const sparePages = Math.floor(spareBytes / PAGE_BYTES);
    if (regions.pageCount - sparePages < pagesNeeded) {
      throw new RangeError(
        `a store of ${shardCount} shards takes at least ${pagesNeeded * PAGE_BYTES} bytes of memory`,
      );
    }
    const firstPage = Math.max(regions.firstPage, Math.floor(pagesFromByte / PAGE_BYTES));
    store.pages.format(firstPage, regions.pageCount, sparePages);
    memory[HeaderWord.shardCount] = shardCount;
    for (let index = 0; index < shardCount; index++) {
      numbers[(store.shardAt(index) >>> 1) + ShardNumber.acknowledged] = Number.POSITIVE_INFINITY;
    }
    memory[HeaderWord.layoutVersion] = LAYOUT_VERSION;
    memory[HeaderWord.magic] = MAGIC;
    return store;
  }

  static attach(buffer: StoreBuffer, use: StoreUse): Store {
    const memory = new Int32Array(buffer, BASE_BYTES, PAGE_WORDS);
    assert(
      memory[HeaderWord.magic] === MAGIC && memory[HeaderWord.layoutVersion] === LAYOUT_VERSION,
      'the buffer holds a store',
    );
    return new Store(buffer, memory[HeaderWord.shardCount], use);
  }

  /** Another thread may use the store from now on. */
  share(): void {
    this.locking = this.buffer instanceof SharedArrayBuffer;
    this.isShared = this.locking;
    this.pages.share(this.isShared);
  }

  /** Gives every page back at once and leaves each shard without a key. Sequences and expiry counts stay. */
  clearRecords(): void {
    const { memory, regions, shardCount } = this;
    for (let index = 0; index < shardCount; index++) {
      const shard = this.shardAt(index);
      memory.fill(0, shard + ShardWord.keys, shard + ShardWord.longestBucket + 1);
      memory.fill(0, shard + ShardWord.attachmentCounts, shard + SHARD_WORDS);
      const own = this.originShardAt(OWN_ORIGIN, shard);
      memory.fill(0, own + OriginShardWord.head, own + OriginShardWord.tail + 1);
      memory.fill(0, own + OriginShardWord.cursors, own + OriginShardWord.cursors + CURSORS);
      memory.fill(0, own + OriginShardWord.digestLow, own + OriginShardWord.digestHigh + 1);
    }
    memory.fill(0, regions.pageBitmap, regions.pageBitmap + Math.ceil(regions.pageCount / 32));
    this.pages.format(memory[HeaderWord.firstPage], regions.pageCount, memory[HeaderWord.pagesSpare]);
  }

  /** The address of a shard's header. */
  shardAt(index: number): number {
    return this.regions.shards + (index << SHARD_SHIFT);
  }

  shardIndexOf(shard: number): number {
    return (shard - this.regions.shards) >> SHARD_SHIFT;
  }

  /** The shard of the key whose hash was just made: high bits, since other uses of the hash take the low ones. */
  shardOfHash(): number {
    return this.shardAt((this.hash.shared >>> this.shardShift) & (this.shardCount - 1));
  }

  /** The shard of a key, whose hash is made on the way. */
  shardOf(input: ByteInput, start: number, length: number): number {
    this.hash.ofInput(input, start, length);
    return this.shardOfHash();
  }

  /** The shard that a state of this node's own origin belongs to; 0 for one of another origin. */
  shardOfOwn(originShard: number): number {
    const index = (originShard - this.regions.originStates) >>> ORIGIN_SHARD_SHIFT;
    return index < this.shardCount ? this.shardAt(index) : 0;
  }

  originSlotAt(origin: number): number {
    return this.regions.originSlots + origin * ORIGIN_SLOT_WORDS;
  }

  /** The state of one origin in one shard. */
  originShardAt(origin: number, shard: number): number {
    return this.originShardOf(origin, this.shardIndexOf(shard));
  }

  /** The same by the index of the shard. */
  originShardOf(origin: number, shardIndex: number): number {
    return this.regions.originStates + ((Math.imul(origin, this.shardCount) + shardIndex) << ORIGIN_SHARD_SHIFT);
  }
}
