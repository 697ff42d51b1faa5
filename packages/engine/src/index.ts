export { Batch, type Cancel } from './batch.js';
export { ByteInput } from './byte-input.js';
export { Engine, type EngineOptions, type EngineStats } from './engine.js';
export { joinInt64, splitInt64 } from './int64.js';
export { ORIGIN_ID_BYTES } from './layout.js';
export { Applied, Merge } from './merge.js';
export { EPOCH_MS, timeOfVersion, versionAt } from './record.js';
export { Status } from './status.js';
export { batchSince, DEFAULT_WALK_LIMITS, type WalkLimits } from './walk.js';
