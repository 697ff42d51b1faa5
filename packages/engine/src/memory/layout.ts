import { assertFields } from './fields.js';

/**
 * The memory map. One buffer holds everything; addresses are word indexes (a word is 32 bits) from its start, and 0 is
 * "none". Threads share the buffer, so nothing of the store is kept in JavaScript objects except views on it.
 *
 *   | region            | size                                  | what                                               |
 *   |-------------------|---------------------------------------|----------------------------------------------------|
 *   | header            | 1 page                                | sizes, clock, page allocator, grow-only prefixes   |
 *   | shards            | shardCount × SHARD_WORDS              | lock, counts, table, slab heads, timing wheel      |
 *   | origin ids        | MAX_ORIGINS × ORIGIN_ID_WORDS         | replica id and incarnation; index 0 is this node   |
 *   | origin slots      | MAX_ORIGINS × ORIGIN_SLOT_WORDS       | what an origin is held by; which origin it is      |
 *   | origin states     | MAX_ORIGINS × shardCount × 16 words   | list ends, watermark, digest of (origin, shard)    |
 *   | page bitmap       | one bit a page                        | which pages are taken                              |
 *   | pages             | the rest, PAGE_WORDS each             | records, hash buckets, directories                 |
 *
 * The buffer is reserved at the memory ceiling. The operating system commits a page of it when it is first written, so
 * the reservation itself costs nothing.
 */

/** 8 KiB: small enough that a half-empty page per size class and shard is noise, large enough to hold 100 keys. */
export const PAGE_WORDS = 2048;
export const PAGE_BYTES = PAGE_WORDS * 4;

/**
 * Where the map begins in the buffer. V8 has large buffers from malloc, which puts its own 16 bytes in front of them at
 * the start of a page; with these 48, pages and buckets begin where cache lines do, and a look-up reads one line, not
 * two.
 */
export const BASE_BYTES = 48;

export const MAGIC = 0x31424451; // "QDB1"
export const LAYOUT_VERSION = 8;

/**
 * Incarnations pile up where nodes run without a disk. A slot is reused once nothing of its origin is left, when there
 * is no other for a new one (origins.ts).
 */
export const MAX_ORIGINS = 512;
/** Of one replica: one that comes back again and again as a new incarnation leaves room for the others. */
export const MAX_ORIGINS_OF_REPLICA = 256;
/** That no change has come of, only a reset: a peer may name any origin in one. */
export const MAX_ORIGINS_UNHEARD = 128;
/** Bytes of an origin's id that name the replica; the rest is its incarnation. */
export const REPLICA_ID_BYTES = 16;
export const ORIGIN_ID_BYTES = 32;
export const ORIGIN_ID_WORDS = ORIGIN_ID_BYTES / 4;
export const OWN_ORIGIN = 0;

/** The slot of an origin, beside its id. */
export const OriginWord = {
  /** Resets of its generations and notes about dropped components of it. */
  references: 0,
  /** Counts the origins that there were: another one in the slot has another number. 0 while it changes. */
  order: 1,
} as const;
export const ORIGIN_SLOT_WORDS = 2;

export const MAX_SHARDS = 1024;
export const DEFAULT_SHARDS = 64;

/**
 * Each record has its fields in two tables: `…Word` counts words (Int32Array), `…Number` counts doubles (Float64Array,
 * two words each). A record begins at an even word, so its doubles are at `(record >>> 1) + …Number.field`.
 */
export const HeaderWord = {
  magic: 0,
  layoutVersion: 1,
  shardCount: 2,
  pageCount: 3,
  firstPage: 4,
  pageHint: 5,
  pagesUsed: 6,
  pagesReserved: 7,
  /** Pages at the end that only a restore takes. */
  pagesSpare: 31,
  pageLock: 8,
  originCount: 9,
  originLock: 10,
  /** 1 where a disk has to learn which components were dropped (dropped-components.ts). */
  keepsDropped: 12,
  /** 1 once there was no memory to note a dropped component: the disk then needs a new snapshot. */
  droppedLost: 13,
  /** 1 where components that other origins ended stay until every peer has seen that (garbage-collection.ts). */
  relays: 14,
  /** Records with reserved keys (reserved.ts). */
  reservedRecords: 15,
  /** The number of the newest origin (OriginWord.order), and how often a slot was reused. */
  originOrder: 22,
  originReuses: 23,
  growOnlyCount: 20,
  /** Regions that this node knows of, itself among them; 0 before replication has counted them. */
  regionCount: 21,
  /** Threads that add locks to those they hold, out of order (shard-locks.ts). */
  extending: 28,
  /** How long a count of another region is on its way to this node, in ms; 0 while no region is connected. */
  countDelayMs: 29,
  /** Scripts that run for longer than the threshold of BUSY and keep the locks of their keys (lock.ts). */
  slowScripts: 11,
  /** 1 where nothing stays unpublished, because keys are about to move to another group (unpublished.ts). */
  publishesAll: 30,
  /** The secret of the local hash (hash.ts). It is in no file and no frame. */
  hashSecret: 24,
  /**
   * Counts transactions that ended, wrapping (shard-locks.ts). In a cache line of its own: every lane reads the clock.
   */
  transactions: 36,
  /** Visitors that wait for the lock of the store (store-lock.ts): read for each command, in a cache line of its own. */
  storeVisitors: 52,
  storeLock: 68,
  growOnlyPrefixes: 1024,
} as const;

export const HeaderNumber = { clock: 8, graceMs: 9 } as const;

export const GROW_ONLY_BYTES = 4096;
export const HASH_SECRET_WORDS = 4;
export const HASH_SECRET_BYTES = HASH_SECRET_WORDS * 4;

/** Addresses are computed by shifts, on the way of every change. */
export const SHARD_SHIFT = 10;
export const SHARD_WORDS = 1 << SHARD_SHIFT;
export const SLAB_HEADS = 96;
export const WHEEL_LEVELS = 6;
export const WHEEL_SLOTS = 64;
/** Kinds of attachments are less than this (attachments.ts). */
export const ATTACHMENT_KINDS = 8;
/** Chains of stems, and beginnings of keys that a shard has seen lately (stems.ts). */
export const SHARD_STEM_CHAINS = 32;
export const SHARD_STEM_CANDIDATES = 32;
/** Changes of a shard that are noted for the log (change-notes.ts). */
export const SHARD_NOTES = 168;
/** Databases of one store, database 0 among them. */
export const MAX_DATABASES = 128;

export const ShardWord = {
  lock: 0,
  /** Keys that a reader would see, expired ones included until they are dropped. */
  keys: 1,
  /** Records in the table: keys, and removed keys until every peer and the disk have acknowledged their removal. */
  records: 2,
  bucketCount: 3,
  /** 2^(level+1) − 1, see table.ts. */
  wideMask: 4,
  directory: 5,
  withExpiry: 6,
  /** The most records that a split has found in one bucket: many mean that keys collide (table.ts). */
  longestBucket: 7,
  /** The first note about a dropped component that the disk has not taken yet. */
  dropped: 16,
  /** The number of attachments by kind (attachments.ts). */
  attachmentCounts: 18,
  slabHeads: 32,
  wheelBitmaps: 128,
  wheelHeads: 144,
  /** `keys` and `withExpiry` by database (reserved.ts). */
  databaseKeys: 528,
  databaseWithExpiry: 656,
  /** The stems of keys, and the hashes of beginnings that may become one. */
  stemChains: 784,
  stemCandidates: 816,
  /** How many components are noted as changed, and their addresses (change-notes.ts). */
  noted: 850,
  notes: 852,
  /** Own components that came behind the ordered part of their list since the log ordered it; no fewer. */
  unordered: 851,
} as const;

export const ShardNumber = {
  expired: 4,
  wheelTick: 5,
  /** Every peer and the disk hold this node's own changes up to this version; Infinity where there are none. */
  acknowledged: 6,
  /** Own components up to this version have been looked at by garbage collection. */
  collected: 7,
  /** The newest version with which an own component ended its generation. */
  ended: 13,
  /** The newest version with which a component of any other origin did. */
  othersEnded: 14,
  /** Own components that changed after this version are noted. */
  notedFrom: 424,
} as const;

/** The state of one (origin, shard). */
export const OriginShardWord = {
  head: 0,
  tail: 1,
  digestLow: 6,
  digestHigh: 7,
  /** Components of the list near which walks that come in parts go on, CURSORS of them, or 0. */
  cursors: 10,
} as const;

export const OriginShardNumber = {
  /** Own origin: the sequence, the version given last. Others: the watermark, a true cut of that origin's changes. */
  seen: 1,
  /** The digest covers components up to this version, and is brought up to date when it is read (digest.ts). */
  digested: 2,
  /** The list is in version order up to here (version-list.ts). */
  ordered: 4,
  /** Other origins, where this node relays: every peer has acknowledged that origin's changes up to here. */
  acknowledged: 7,
} as const;

export const ORIGIN_SHARD_SHIFT = 4;
export const ORIGIN_SHARD_WORDS = 1 << ORIGIN_SHARD_SHIFT;
/** This many walks can come in parts at once without looking for their place from the end of the list. */
export const CURSORS = 4;

assertFields('the header', PAGE_WORDS, HeaderWord, HeaderNumber, {
  hashSecret: HASH_SECRET_WORDS,
  growOnlyPrefixes: GROW_ONLY_BYTES / 4,
});
assertFields('a shard', SHARD_WORDS, ShardWord, ShardNumber, {
  attachmentCounts: ATTACHMENT_KINDS,
  slabHeads: SLAB_HEADS,
  wheelBitmaps: (WHEEL_LEVELS * WHEEL_SLOTS) / 32,
  wheelHeads: WHEEL_LEVELS * WHEEL_SLOTS,
  databaseKeys: MAX_DATABASES,
  databaseWithExpiry: MAX_DATABASES,
  stemChains: SHARD_STEM_CHAINS,
  stemCandidates: SHARD_STEM_CANDIDATES,
  notes: SHARD_NOTES,
});
assertFields('the slot of an origin', ORIGIN_SLOT_WORDS, OriginWord);
assertFields('the state of an origin in a shard', ORIGIN_SHARD_WORDS, OriginShardWord, OriginShardNumber, {
  cursors: CURSORS,
});

export interface Regions {
  readonly shards: number;
  readonly originIds: number;
  readonly originSlots: number;
  readonly originStates: number;
  readonly pageBitmap: number;
  readonly firstPage: number;
  readonly pageCount: number;
}

export function regionsOf(bufferBytes: number, shardCount: number): Regions {
  const pageCount = Math.floor(bufferBytes / PAGE_BYTES);
  const shards = PAGE_WORDS;
  const originIds = shards + shardCount * SHARD_WORDS;
  const originSlots = originIds + MAX_ORIGINS * ORIGIN_ID_WORDS;
  const originStates = originSlots + MAX_ORIGINS * ORIGIN_SLOT_WORDS;
  const pageBitmap = originStates + MAX_ORIGINS * shardCount * ORIGIN_SHARD_WORDS;
  const end = pageBitmap + Math.ceil(pageCount / 32);
  return {
    shards,
    originIds,
    originSlots,
    originStates,
    pageBitmap,
    firstPage: Math.ceil(end / PAGE_WORDS),
    pageCount,
  };
}
