import { addExpiring, type ByteInput, type Engine, EPOCH_MS, OWN_ORIGIN, Status } from '@quotadb/engine';
import { type Bucket, type BucketDecision, decideBucket, describeBucket } from './bucket.js';
import { BUCKET_HEADER_BYTES, CELL_HEADER_BYTES, CellKind, CellNames } from './cell-key.js';
import type { KeyList } from './key-list.js';
import { Charge } from './sliding-limit.js';

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

/** A limit that is a bucket, and the last decision on it: it is located first, then decided. */
export class GcraLimit {
  private readonly names = new CellNames(1, BUCKET_HEADER_BYTES);
  private nameBytes = 0;
  private engine: Engine | undefined = undefined;
  private bucket!: Bucket;
  readonly decision: BucketDecision = { allowed: false, debt: 0, remaining: 0, retryAfterMs: 0, resetAfterMs: 0 };

  /** Chooses the identifier and the bucket that the next decision is about. */
  locate(engine: Engine, input: ByteInput, start: number, length: number, bucket: Bucket): void {
    const { names } = this;
    if (engine !== this.engine) {
      this.engine = engine;
      const incarnation = engine.origins.idOf(OWN_ORIGIN).subarray(REPLICA_ID_BYTES, REPLICA_ID_BYTES + NODE_BYTES);
      names.input.bytes.set(incarnation, CELL_HEADER_BYTES);
    }
    if (bucket !== this.bucket) names.setHeader(0, CellKind.bucket, bucket.periodMs, bucket.count);
    this.nameBytes = names.setKey(0, input, start, length);
    this.bucket = bucket;
  }

  /** Decides a request, into `decision`, and takes its cost as `charge` says. */
  decide(engine: Engine, cost: number, publishPercent: number, charge: Charge): Status {
    const { decision, bucket } = this;
    this.names.open(engine, 0, this.nameBytes);
    const debt = debtOf(engine, bucket);
    decideBucket(bucket, debt, cost, decision);
    const charges = decision.allowed && charge !== Charge.Never && cost > 0;
    if (decision.allowed && !charges) describeBucket(bucket, debt, decision);
    const status = charges ? setDebt(engine, bucket, decision.debt, publishPercent > 0) : Status.Ok;
    engine.close();
    return status;
  }

  /** Makes the cell, which is where memory can run out: to take from a bucket that exists cannot fail. */
  prepare(engine: Engine, publishPercent: number): Status {
    this.names.open(engine, 0, this.nameBytes);
    const status = setDebt(engine, this.bucket, debtOf(engine, this.bucket), publishPercent > 0);
    engine.close();
    return status;
  }

  /** Fills the bucket by this many requests, at most until it is full; returns how many those were. */
  refund(engine: Engine, atMost: number): number {
    const { periodMs } = this.bucket;
    this.names.open(engine, 0, this.nameBytes);
    const debt = debtOf(engine, this.bucket);
    const refunded = Math.min(atMost, Math.ceil(debt / periodMs));
    const isSet = refunded > 0 && setDebt(engine, this.bucket, Math.max(0, debt - refunded * periodMs), false);
    engine.close();
    return isSet === Status.Ok ? refunded : 0;
  }

  addKeys(keys: KeyList): void {
    keys.add(this.names.input, 0, this.nameBytes);
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

/** Makes the open bucket short of full by this many parts; an unpublished one by no fewer than it was. */
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
  if (isUnpublished && engine.isRelaying && engine.hasNoComponents)
    return isKeptLongEnough
      ? engine.addMoreUnpublished(growthHigh, growthLow)
      : engine.addUnpublished(growthHigh, growthLow, expiresAtMs);
  return isKeptLongEnough ? engine.add(growthHigh, growthLow) : addExpiring(engine, growthHigh, growthLow, expiresAtMs);
}
