import { addExpiring, type ByteInput, type Engine, EPOCH_MS, OWN_ORIGIN, Status } from '@quotadb/engine';
import { type Bucket, type BucketDecision, decideBucket } from './bucket.js';
import { BUCKET_HEADER_BYTES, CELL_HEADER_BYTES, CellKind, CellNames } from './cell-key.js';

/**
 * The time at which a bucket is full again, as the value of a counter:
 *
 *   bits 22–62  milliseconds since EPOCH_MS (2025), until the year 2094
 *   bits 0–21   parts of the millisecond, of which there are `count`
 *
 * The time only grows, so the cell is kept by adding the growth, and this node's component is the value. Times of
 * different nodes cannot be added up: the name of the cell has the node's incarnation in it, so each node has its own
 * buckets. Other regions have no use for them, so they stay unpublished unless the publish threshold is 0.
 */
const PART_BITS = 22;
const PART_MASK = 2 ** PART_BITS - 1;
/** The rest of the low half holds milliseconds. */
const LOW_MS = 2 ** (32 - PART_BITS);

const REPLICA_ID_BYTES = 16;
const NODE_BYTES = BUCKET_HEADER_BYTES - CELL_HEADER_BYTES;

/** A full bucket is the same as none. Its cell expires a little later, so that few requests have to move the expiry. */
const EXPIRY_SLACK_MS = 1_000;

/** Decides GCRA limits, and holds the last decision. */
export class GcraLimit {
  private readonly names = new CellNames();
  private engine: Engine | undefined = undefined;
  readonly decision: BucketDecision = { allowed: false, debt: 0, remaining: 0, retryAfterMs: 0, resetAfterMs: 0 };

  /** Decides a request and takes its cost if it is allowed, into `decision`. */
  decide(
    engine: Engine,
    input: ByteInput,
    start: number,
    length: number,
    bucket: Bucket,
    cost: number,
    publishPercent: number,
  ): Status {
    const { decision, names } = this;
    if (engine !== this.engine) {
      this.engine = engine;
      const incarnation = engine.origins.idOf(OWN_ORIGIN).subarray(REPLICA_ID_BYTES, REPLICA_ID_BYTES + NODE_BYTES);
      names.input.bytes.set(incarnation, CELL_HEADER_BYTES);
    }
    names.setHeader(0, CellKind.bucket, bucket.periodMs, bucket.count);
    engine.open(names.input, 0, names.setKey(0, BUCKET_HEADER_BYTES, input, start, length));
    decideBucket(bucket, debtOf(engine, bucket), cost, decision);
    const status =
      decision.allowed && cost > 0 ? setDebt(engine, bucket, decision.debt, publishPercent > 0) : Status.Ok;
    engine.close();
    return status;
  }
}

/** How many parts the open bucket is short of full. */
function debtOf(engine: Engine, bucket: Bucket): number {
  if (!engine.exists) return 0;
  const fullAtMs = EPOCH_MS + engine.valueHigh * LOW_MS + (engine.valueLow >>> PART_BITS);
  const debt = (fullAtMs - engine.nowMs) * bucket.count + (engine.valueLow & PART_MASK);
  // A clock that was set back, or a burst that was larger, can leave more than 2^53 parts: half of that is enough.
  return Math.min(Math.max(debt, 0), Number.MAX_SAFE_INTEGER / 2);
}

/** Makes the open bucket short of full by this many parts, more than it was. */
function setDebt(engine: Engine, bucket: Bucket, debt: number, isUnpublished: boolean): Status {
  const aheadMs = Math.floor(debt / bucket.count);
  const fullAtMs = engine.nowMs + aheadMs;
  const sinceEpochMs = fullAtMs - EPOCH_MS;
  const low = ((sinceEpochMs % LOW_MS) << PART_BITS) | (debt - aheadMs * bucket.count);
  // Both times have 63 bits, so their difference fits.
  const borrow = low >>> 0 < engine.valueLow >>> 0 ? 1 : 0;
  const growthHigh = Math.floor(sinceEpochMs / LOW_MS) - engine.valueHigh - borrow;
  const growthLow = (low - engine.valueLow) | 0;
  const isKeptLongEnough = engine.expiresAtMs > fullAtMs;
  const expiresAtMs = fullAtMs + 1 + EXPIRY_SLACK_MS;
  if (isUnpublished && engine.isRelaying && engine.isUntold)
    return isKeptLongEnough
      ? engine.withholdMore(growthHigh, growthLow)
      : engine.withhold(growthHigh, growthLow, expiresAtMs);
  return isKeptLongEnough ? engine.add(growthHigh, growthLow) : addExpiring(engine, growthHigh, growthLow, expiresAtMs);
}
