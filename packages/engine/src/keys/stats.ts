import { Kind } from '../memory/attachments.js';
import { HeaderWord, PAGE_BYTES, ShardNumber, ShardWord } from '../memory/layout.js';
import type { Store } from '../memory/store.js';

/** Totals of a store: sums over its shards, read without their locks. */
export interface EngineStats {
  readonly keys: number;
  readonly keysWithExpiry: number;
  /** Keys with an unpublished count. */
  readonly keysUnpublished: number;
  /** Records of removed keys, kept until every peer and the disk have acknowledged the removal. */
  readonly removedKeysRetained: number;
  readonly expiredKeysTotal: number;
  /** Pages in use for keys; the fixed regions in front of them, about 3 MB, are not counted. */
  readonly usedBytes: number;
  readonly maxMemoryBytes: number;
  readonly buckets: number;
  /** The most records that a split has found in one bucket: about 50 at most, unless keys collide. */
  readonly longestBucket: number;
  /** The records of the largest shard: clients can choose the shard of a key. */
  readonly largestShard: number;
}

export function statsOf(store: Store): EngineStats {
  const { attachments, memory, numbers } = store;
  let keys = 0;
  let records = 0;
  let keysWithExpiry = 0;
  let keysUnpublished = 0;
  let expiredKeysTotal = 0;
  let buckets = 0;
  let longestBucket = 0;
  let largestShard = 0;
  for (let index = 0; index < store.shardCount; index++) {
    const shard = store.shardAt(index);
    keys += memory[shard + ShardWord.keys];
    records += memory[shard + ShardWord.records];
    keysWithExpiry += memory[shard + ShardWord.withExpiry];
    keysUnpublished += attachments.countOf(shard, Kind.unpublished);
    expiredKeysTotal += numbers[(shard >>> 1) + ShardNumber.expired];
    buckets += memory[shard + ShardWord.bucketCount];
    longestBucket = Math.max(longestBucket, memory[shard + ShardWord.longestBucket]);
    largestShard = Math.max(largestShard, memory[shard + ShardWord.records]);
  }
  return {
    keys,
    keysWithExpiry,
    keysUnpublished,
    removedKeysRetained: records - keys,
    expiredKeysTotal,
    buckets,
    longestBucket,
    largestShard,
    usedBytes: (memory[HeaderWord.pagesUsed] - memory[HeaderWord.firstPage]) * PAGE_BYTES,
    maxMemoryBytes: (memory[HeaderWord.pageCount] - memory[HeaderWord.pagesSpare]) * PAGE_BYTES,
  };
}

/** Keys of one database. Cells of windows and limits are counted in database 0, whichever they belong to. */
export interface DatabaseStats {
  readonly keys: number;
  readonly keysWithExpiry: number;
}

export function databaseStatsOf(store: Store, database: number): DatabaseStats {
  const { memory } = store;
  let keys = 0;
  let keysWithExpiry = 0;
  for (let index = 0; index < store.shardCount; index++) {
    const shard = store.shardAt(index);
    keys += memory[shard + ShardWord.databaseKeys + database];
    keysWithExpiry += memory[shard + ShardWord.databaseWithExpiry + database];
  }
  return { keys, keysWithExpiry };
}
