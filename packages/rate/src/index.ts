/**
 * Rate limits and windows, decided on the engine without a protocol: RESP and HTTP are adapters over this package.
 *
 *   SlidingLimit, decideAll  limits on sliding windows, each read from two fixed ones   RATE.LIMIT, PEEK, ADD, LIMITALL
 *   GcraLimit                GCRA: a bucket that requests empty and time fills          RATE.GCRA
 *   FixedLimit               limits on fixed windows                                    LIMIT.CHECK
 *   WindowCell               counts of fixed windows                                    WINDOW.INCRBY, WINDOW.GET
 *
 * A cell is the counter of one identifier in one window: a key of the engine, so it replicates, expires and reaches the
 * disk as keys do. A decision takes the engine's time, the identifier's bytes and numbers, costs two lookups (a bucket
 * or a window one) and next to no garbage, never waits, and calls no other region. It includes the counts of other
 * regions that have arrived, so a limit can be exceeded by counts that are still on their way. Below the publish
 * threshold a count stays in its region; buckets belong to one node. Limits and costs are integers up to 2^53 − 1.
 * Every object here serves one thread and is reused: one decision at a time.
 */
export { type Bucket, bucketOf } from './bucket.js';
export {
  BUCKET_HEADER_BYTES,
  CELL_HEADER_BYTES,
  CELL_MARGIN_MS,
  CellKind,
  cellKindOf,
  cellName,
  identifierOf,
  isReservedName,
  MAX_CELL_KEY_BYTES,
  MAX_START_MS,
  MAX_WINDOW_MS,
} from './cell-key.js';
export { FixedLimit } from './fixed-limit.js';
export { GcraLimit } from './gcra-limit.js';
export { KeyList } from './key-list.js';
export { SlidingCells } from './sliding-cells.js';
export { Charge, decideAll, MAX_LIMITS, SlidingLimit } from './sliding-limit.js';
export { WindowCell } from './window-cell.js';
