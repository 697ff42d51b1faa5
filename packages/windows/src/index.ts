export { MemoryWindowStore, type MemoryWindowStoreOptions } from './adapters/memory.js';
export { type PostgresClient, PostgresWindowStore, type PostgresWindowStoreOptions } from './adapters/postgres.js';
export { type QuotadbClient, QuotadbWindowStore, type QuotadbWindowStoreOptions } from './adapters/quotadb.js';
export { RedisWindowStore, type RedisWindowStoreOptions } from './adapters/redis.js';
export type { IoredisClient, NodeRedisClient, RedisClient } from './adapters/redis-client.js';
export { TimeWindowCounter, type TimeWindowCounterOptions, type WindowFacts } from './counter/time-window-counter.js';
export { type BucketKey, BucketTemplate, bucketKey } from './window/bucket-key.js';
export type { WindowCounterStore, WindowExpiry } from './window/store.js';
export {
  fixedWindowAt,
  nextWindow,
  previousWindow,
  remainingMs,
  type Window,
  windowContains,
  windowEndMs,
  windowFrom,
} from './window/window.js';
