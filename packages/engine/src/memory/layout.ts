/**
 * The memory map. One buffer holds everything; addresses are word indexes (a word is 32 bits) from its start, and 0 is
 * "none". Threads share the buffer, so nothing of the store is kept in JavaScript objects except views on it.
 *
 *   | region            | size                                  | what                                               |
 *   |-------------------|---------------------------------------|----------------------------------------------------|
 *   | header            | 1 page                                | sizes, clock, page allocator, grow-only prefixes   |
 *   | shards            | shardCount × SHARD_WORDS              | lock, counts, table, slab heads, timing wheel      |
 *   | origin ids        | MAX_ORIGINS × ORIGIN_ID_WORDS         | replica id and incarnation; index 0 is this node   |
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
 * Where the map begins in the buffer. V8 has large buffers from malloc, which puts its own 16 bytes in front of them at the
 * start of a page; with these 48, pages and buckets begin where cache lines do, and a look-up reads one line, not two.
 */
export const BASE_BYTES = 48;

export const MAGIC = 0x31424451; // "QDB1"
export const LAYOUT_VERSION = 6;

/** Incarnations pile up where nodes run without a disk; an origin slot is reused once nothing of it is left. */
export const MAX_ORIGINS = 512;
export const ORIGIN_ID_BYTES = 32;
export const ORIGIN_ID_WORDS = ORIGIN_ID_BYTES / 4;
export const OWN_ORIGIN = 0;

export const MAX_SHARDS = 1024;
export const DEFAULT_SHARDS = 64;

/** Header words. Those named …_NUMBER are indexes into the Float64Array view (two words each). */
export const Header = {
  magic: 0,
  layoutVersion: 1,
  shardCount: 2,
  pageCount: 3,
  firstPage: 4,
  pageHint: 5,
  pagesUsed: 6,
  pagesReserved: 7,
  pageLock: 8,
  originCount: 9,
  originLock: 10,
  tableSeed: 11,
  /** 1 where a disk has to be told which components were let go; see dropped.ts. */
  keepsDropped: 12,
  /** 1 once there was no memory to note one of them: the disk then needs everything anew. */
  droppedLost: 13,
  /** 1 where what other origins ended is kept until every peer knows; see GarbageCollection.acknowledgeOther. */
  relays: 14,
  /** How many records have reserved keys; see reserved.ts. */
  reservedRecords: 15,
  clockNumber: 8,
  graceMsNumber: 9,
  growOnlyCount: 20,
  growOnlyStart: 1024,
} as const;

export const GROW_ONLY_BYTES = 4096;

export const SHARD_WORDS = 1024;

/** Offsets in a shard's header. */
export const Shard = {
  lock: 0,
  /** Keys that a reader would see, expired ones included until they are dropped. */
  keys: 1,
  /** Records in the table: keys, and what is left of deleted ones until everybody knows. */
  records: 2,
  bucketCount: 3,
  /** 2^(level+1) − 1, see table.ts. */
  wideMask: 4,
  directory: 5,
  withExpiry: 6,
  expiredNumber: 4,
  wheelTickNumber: 5,
  acknowledgedNumber: 6,
  collectedNumber: 7,
  /** What was let go since the disk was told last, a chain. */
  dropped: 16,
  /** How many attachments of each kind there are, by kind; see attachments.ts. */
  attachmentCounts: 18,
  /** The newest version that an own component had when it said that its generation is over. */
  endedNumber: 13,
  /** The same of components of other origins, whichever of them has the newest. */
  othersEndedNumber: 14,
  slabHeads: 32,
  wheelBitmaps: 128,
  wheelHeads: 144,
} as const;

/** Offsets in the state of one (origin, shard). */
export const OriginShard = {
  head: 0,
  tail: 1,
  /** Own origin: the sequence, the version given last. Others: the watermark, a true cut of that origin's changes. */
  seenNumber: 1,
  /** The digest covers components up to this version, and is brought up to date when asked for; see digest.ts. */
  digestedNumber: 2,
  digestLow: 6,
  digestHigh: 7,
  /** The list is in version order up to here, see version-list.ts. */
  orderedNumber: 4,
  /** Components of the list near which walks that come in parts go on, CURSORS of them, or 0. */
  cursors: 10,
  /** Other origins, where this node relays: every peer has seen that origin up to here. */
  acknowledgedNumber: 7,
} as const;
export const ORIGIN_SHARD_WORDS = 16;
/** As many walks can come in parts at once without looking for their place from the end of the list. */
export const CURSORS = 4;

export interface Regions {
  readonly shards: number;
  readonly originIds: number;
  readonly originStates: number;
  readonly pageBitmap: number;
  readonly firstPage: number;
  readonly pageCount: number;
}

export function regionsOf(bufferBytes: number, shardCount: number): Regions {
  const pageCount = Math.floor(bufferBytes / PAGE_BYTES);
  const shards = PAGE_WORDS;
  const originIds = shards + shardCount * SHARD_WORDS;
  const originStates = originIds + MAX_ORIGINS * ORIGIN_ID_WORDS;
  const pageBitmap = originStates + MAX_ORIGINS * shardCount * ORIGIN_SHARD_WORDS;
  const end = pageBitmap + Math.ceil(pageCount / 32);
  return { shards, originIds, originStates, pageBitmap, firstPage: Math.ceil(end / PAGE_WORDS), pageCount };
}
