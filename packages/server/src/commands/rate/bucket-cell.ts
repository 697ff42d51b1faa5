import { type Engine, EPOCH_MS, OWN_ORIGIN, Status } from '@quotadb/engine';
import type { Request } from '@quotadb/wire';
import { BUCKET_HEADER_BYTES, CELL_HEADER_BYTES, CellKind, CellNames } from '../../cells/cell-key.js';
import { addExpiring } from '../counters/expiring-change.js';
import { result, subtractInt64 } from '../counters/int64.js';
import type { Bucket } from './bucket-arithmetic.js';

/**
 * The time at which a bucket is full again, as the value of a counter:
 *
 *   bits 22–62  milliseconds since EPOCH_MS (2025), until the year 2094
 *   bits 0–21   parts of the millisecond, of which there are `count`
 *
 * It only ever grows, so it is kept by adding to the counter what it grows by, and this node's component is the value. Times
 * of different nodes cannot be added up: the name of the cell has the node's incarnation in it, so each has buckets of its own. They are
 * of no use to other regions, which are not told of them unless everything is published.
 */
const PART_BITS = 22;
const PART_MASK = 2 ** PART_BITS - 1;
/** What is left of the low half for milliseconds. */
const LOW_MS_BITS = 32 - PART_BITS;
const LOW_MS = 2 ** LOW_MS_BITS;

const REPLICA_ID_BYTES = 16;
const NODE_BYTES = BUCKET_HEADER_BYTES - CELL_HEADER_BYTES;

/** A bucket that is full is the same as none. Its cell goes a little later, so that not every request has to move its expiry. */
const EXPIRY_SLACK_MS = 1_000;

export class BucketCell {
  private readonly names = new CellNames();
  private engine: Engine | undefined = undefined;

  /** Opens the cell of a key, an argument of the request. The caller closes it. */
  open(engine: Engine, request: Request, keyIndex: number, bucket: Bucket): void {
    const { names } = this;
    if (engine !== this.engine) {
      this.engine = engine;
      const incarnation = engine.origins.idOf(OWN_ORIGIN).subarray(REPLICA_ID_BYTES, REPLICA_ID_BYTES + NODE_BYTES);
      names.input.bytes.set(incarnation, CELL_HEADER_BYTES);
    }
    names.setHeader(0, CellKind.bucket, bucket.periodMs, bucket.count);
    const start = request.argumentStart[keyIndex];
    const nameBytes = names.setKey(0, BUCKET_HEADER_BYTES, request.input, start, request.argumentLength[keyIndex]);
    engine.open(names.input, 0, nameBytes);
  }

  /** How many parts the open bucket is short of full. */
  debt(engine: Engine, bucket: Bucket): number {
    if (!engine.exists) return 0;
    const fullAtMs = EPOCH_MS + engine.valueHigh * LOW_MS + (engine.valueLow >>> PART_BITS);
    const debt = (fullAtMs - engine.nowMs) * bucket.count + (engine.valueLow & PART_MASK);
    // More than it can have ever held is a clock that was set back, or a burst that was larger: full-sized is enough.
    return Math.min(Math.max(debt, 0), Number.MAX_SAFE_INTEGER / 2);
  }

  /** Makes the open bucket short of full by so many parts, which is more than it was. */
  setDebt(engine: Engine, bucket: Bucket, debt: number, isWithheld: boolean): Status {
    const aheadMs = Math.floor(debt / bucket.count);
    const fullAtMs = engine.nowMs + aheadMs;
    const sinceEpochMs = fullAtMs - EPOCH_MS;
    const high = Math.floor(sinceEpochMs / LOW_MS);
    const low = ((sinceEpochMs % LOW_MS) << PART_BITS) | (debt - aheadMs * bucket.count);
    if (!subtractInt64(high, low, engine.valueHigh, engine.valueLow)) return Status.Overflow;
    const isKeptLongEnough = engine.expiresAtMs > fullAtMs;
    const expiresAtMs = fullAtMs + 1 + EXPIRY_SLACK_MS;
    if (isWithheld && engine.isRelaying && engine.hasNoComponents)
      return isKeptLongEnough
        ? engine.addMoreUnpublished(result.high, result.low)
        : engine.addUnpublished(result.high, result.low, expiresAtMs);
    return isKeptLongEnough
      ? engine.add(result.high, result.low)
      : addExpiring(engine, result.high, result.low, expiresAtMs);
  }
}
