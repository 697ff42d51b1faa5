export { Batch, type Cancel, NOT_PASSED } from './batches/batch.js';
export { Applied, Merge } from './batches/merge.js';
export { Restore } from './batches/restore.js';
export {
  batchOfKeys,
  batchSince,
  DEFAULT_WALK_LIMITS,
  type WalkLimits,
  type WalkTarget,
  walkSince,
} from './batches/walk.js';
export type { DroppedComponent } from './components/dropped-components.js';
export { RESERVED_PREFIX } from './components/reserved.js';
export { bucketBoundsSeconds, DURATION_BUCKETS, durationBucket } from './duration-buckets.js';
export { Acknowledgements, type Holder } from './keys/acknowledgements.js';
export { type CountedGeneration, countedGenerations } from './keys/counted-generations.js';
export { Engine, type EngineOptions } from './keys/engine.js';
export { addExpiring, assignExpiring } from './keys/expiring-change.js';
export { LocalBalances } from './keys/local-balance.js';
export type { EngineStats } from './keys/stats.js';
export { Status } from './keys/status.js';
export { restoreUnpublished, type UnpublishedCount, unpublishedCounts } from './keys/unpublished-keys.js';
export { ByteInput } from './memory/byte-input.js';
export { KeyHash } from './memory/hash.js';
export { joinInt64, splitInt64 } from './memory/int64.js';
export { MAX_ORIGINS, ORIGIN_ID_BYTES, OWN_ORIGIN } from './memory/layout.js';
export {
  bornOf,
  Component,
  EPOCH_MS,
  isPresent,
  keyLengthOf,
  keyRecordOf,
  timeOfVersion,
  versionAt,
  versionOf,
} from './memory/record.js';
