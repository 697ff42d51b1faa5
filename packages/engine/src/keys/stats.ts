import { Kind } from '../memory/attachments.js';
import { Header, PAGE_BYTES, Shard } from '../memory/layout.js';
import type { Store } from '../memory/store.js';

/** What there is in a store as a whole: sums over its shards, read without their locks. */
export interface EngineStats {
  readonly keys: number;
  readonly keysWithExpiry: number;
  /** Keys of which this node has told nobody what it counted. */
  readonly keysUnpublished: number;
  /** Records that hold no key for a reader any more, until every peer knows. */
  readonly removedKeysRetained: number;
  readonly expiredKeysTotal: number;
  /** Pages in use for keys; the fixed regions in front of them, about 3 MB, are not counted. */
  readonly usedBytes: number;
  readonly maxMemoryBytes: number;
  readonly buckets: number;
}

export function statsOf(store: Store): EngineStats {
  const { attachments, memory, numbers } = store;
  let keys = 0;
  let records = 0;
  let keysWithExpiry = 0;
  let keysUnpublished = 0;
  let expiredKeysTotal = 0;
  let buckets = 0;
  for (let index = 0; index < store.shardCount; index++) {
    const shard = store.shardAt(index);
    keys += memory[shard + Shard.keys];
    records += memory[shard + Shard.records];
    keysWithExpiry += memory[shard + Shard.withExpiry];
    keysUnpublished += attachments.countOf(shard, Kind.unpublished);
    expiredKeysTotal += numbers[(shard >>> 1) + Shard.expiredNumber];
    buckets += memory[shard + Shard.bucketCount];
  }
  return {
    keys,
    keysWithExpiry,
    keysUnpublished,
    removedKeysRetained: records - keys,
    expiredKeysTotal,
    buckets,
    usedBytes: (memory[Header.pagesUsed] - memory[Header.firstPage]) * PAGE_BYTES,
    maxMemoryBytes: memory[Header.pageCount] * PAGE_BYTES,
  };
}
