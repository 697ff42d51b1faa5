/**
 * Rate limits and windows, decided on the engine without a protocol: RESP and HTTP are adapters over this package.
 *
 *   SlidingLimit, decideAll  limits on sliding windows, each read from two fixed ones   RATE.LIMIT, PEEK, ADD, LIMITALL
 *   BucketCell               GCRA: a bucket that requests empty and time fills          RATE.GCRA
 *   WindowCell               counts of fixed windows                                    WINDOW.INCRBY, WINDOW.GET
 *
 * A cell is the counter of one identifier in one window: a key of the engine, so it replicates, expires and reaches the
 * disk as keys do. A decision takes the engine's time, the identifier's bytes and numbers, and costs two lookups (a
 * bucket or a window one); it allocates nothing once the cell exists, never waits, and calls no other region. Counts of
 * other regions are included as far as they have arrived, so a limit can be exceeded by what replication has not
 * delivered yet. Below the publish threshold a count stays in its region. Buckets belong to one node. Limits and costs
 * are integers up to 2^53 − 1. Every object here is for one thread and is reused: one decision at a time.
 */
export { type Bucket, bucketOf } from './bucket.js';
export { BucketCell } from './bucket-cell.js';
export {
  CELL_MARGIN_MS,
  CellKind,
  cellName,
  isReservedName,
  MAX_CELL_KEY_BYTES,
  MAX_START_MS,
  MAX_WINDOW_MS,
} from './cell-key.js';
export { SlidingCells } from './sliding-cells.js';
export { Charge, decideAll, MAX_LIMITS, SlidingLimit } from './sliding-limit.js';
export { WindowCell } from './window-cell.js';
