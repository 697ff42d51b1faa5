export { Acknowledgements, type Holder } from './acknowledgements.js';
export { Batch, type Cancel, NOT_PASSED } from './batch.js';
export { ByteInput } from './byte-input.js';
export { type CountedLife, countedLives } from './components.js';
export type { Dropped } from './dropped.js';
export { bucketBoundsSeconds, DURATION_BUCKETS, durationBucket } from './duration-buckets.js';
export { Engine, type EngineOptions } from './engine.js';
export { addExpiring, assignExpiring } from './expiring-change.js';
export { KeyHash } from './hash.js';
export { joinInt64, splitInt64 } from './int64.js';
export { MAX_ORIGINS, ORIGIN_ID_BYTES, OWN_ORIGIN } from './layout.js';
export { Applied, Merge } from './merge.js';
export { Pockets } from './pocket.js';
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
} from './record.js';
export { RESERVED_PREFIX } from './reserved.js';
export { Restore } from './restore.js';
export type { EngineStats } from './stats.js';
export { Status } from './status.js';
export {
  batchOfKeys,
  batchSince,
  DEFAULT_WALK_LIMITS,
  type WalkLimits,
  type WalkTarget,
  walkSince,
} from './walk.js';
