export { Batch, type Cancel, NOT_PASSED } from './batches/batch.js';
export { aheadMs, printDuration, Verdict } from './batches/batch-gate.js';
export { carryOver } from './batches/carry-over.js';
export { Applied, Merge } from './batches/merge.js';
export { admittedUntilMs, datedUntilMs, type ReDating } from './batches/re-date.js';
export { ALL_SHARDS, Restore, type ShardShare } from './batches/restore.js';
export { batchOfKeys, batchSince, type WalkLimits, type WalkTarget, walkForLog, walkSince } from './batches/walk.js';
export {
  CALENDAR_UNIT_MS,
  CALENDAR_UNITS,
  type Calendar,
  type CalendarUnit,
  calendarWindowAt,
  calendarWindowEndMs,
  calendarWindowStartMs,
  findCalendarFault,
  isCalendarWindow,
  isSameCalendar,
} from './calendar/calendar-window.js';
export type { DroppedComponent } from './components/dropped-components.js';
export { DATABASE_PREFIX_BYTES, databaseOf, databasePrefix, RESERVED_PREFIX } from './components/reserved.js';
export { bucketBoundsSeconds, DURATION_BUCKETS, durationBucket } from './duration-buckets.js';
export { Acknowledgements, type Holder } from './keys/acknowledgements.js';
export { type CountedGeneration, countedGenerations } from './keys/counted-generations.js';
export { Engine } from './keys/engine.js';
export { addExpiring, assignExpiring } from './keys/expiring-change.js';
export { LocalBalances } from './keys/local-balance.js';
export { ReadAhead } from './keys/read-ahead.js';
export { Status } from './keys/status.js';
export { restoreUnpublished, unpublishedCounts } from './keys/unpublished-keys.js';
export { ByteInput } from './memory/byte-input.js';
export { KeyPrefix, sharedHashOf } from './memory/hash.js';
export { joinInt64, splitInt64 } from './memory/int64.js';
export { copyKey, keyWordAt, stemOf, stemWordsOf } from './memory/key-bytes.js';
export {
  HASH_SECRET_BYTES,
  MAX_DATABASES,
  MAX_ORIGINS,
  MAX_ORIGINS_OF_REPLICA,
  ORIGIN_ID_BYTES,
  OWN_ORIGIN,
  REPLICA_ID_BYTES,
} from './memory/layout.js';
export { StoreBusy } from './memory/lock.js';
export {
  bornOf,
  Component,
  EPOCH_MS,
  isPresent,
  keyLengthOf,
  keyRecordOf,
  MAX_VERSION,
  timeOfVersion,
  versionAt,
  versionOf,
} from './memory/record.js';
export type { StoreUse } from './memory/store.js';
