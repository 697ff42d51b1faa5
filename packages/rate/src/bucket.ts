/**
 * The arithmetic of GCRA: a bucket that requests empty and time fills. One time is kept: when the bucket will be full
 * again. `count` requests per `period` fill it. So that no rate is rounded, a millisecond has `count` parts, and a
 * request costs `period` parts. All numbers are integers below 2^53.
 *
 *   debt   how many parts the bucket is short of full: (full again − now) × count
 *   limit  burst + 1 requests, the most that a full bucket admits at once
 */
export interface Bucket {
  /** Requests that fill it in a period, and the period: in lowest terms. */
  readonly count: number;
  readonly periodMs: number;
  /** Requests that a full bucket holds. */
  readonly limit: number;
}

/** The parts of a millisecond have 22 bits of a cell. */
const MAX_PARTS = 2 ** 22;

/** The longest that an empty bucket may take to fill, 34 years: a time that far ahead fits a cell until 2059. */
const MAX_FILL_MS = 2 ** 40;

/** Undefined where these numbers cannot be worked with exactly. */
export function bucketOf(burst: number, count: number, periodMs: number): Bucket | undefined {
  const divisor = greatestCommonDivisor(count, periodMs);
  const bucket = { count: count / divisor, periodMs: periodMs / divisor, limit: burst + 1 };
  const capacity = bucket.limit * bucket.periodMs;
  const isExact = bucket.count <= MAX_PARTS && capacity <= Number.MAX_SAFE_INTEGER / 2;
  return isExact && capacity <= MAX_FILL_MS * bucket.count ? bucket : undefined;
}

export interface BucketDecision {
  allowed: boolean;
  /** Parts that the bucket is short of full, afterwards. */
  debt: number;
  remaining: number;
  /** −1 where the request was allowed, and where its cost is above the limit. */
  retryAfterMs: number;
  /** Until the bucket is full. */
  resetAfterMs: number;
}

/** Decides a request and writes the decision into `to`. A denied request changes nothing. */
export function decideBucket(bucket: Bucket, debt: number, cost: number, to: BucketDecision): void {
  const { count, periodMs, limit } = bucket;
  const capacity = limit * periodMs;
  // A cost above the limit is found before it is multiplied: the product could leave 2^53.
  const after = cost > limit ? Number.POSITIVE_INFINITY : debt + cost * periodMs;
  to.allowed = after <= capacity;
  to.retryAfterMs = to.allowed || cost > limit ? -1 : Math.ceil((after - capacity) / count);
  describeBucket(bucket, to.allowed ? after : debt, to);
}

/** Writes what a bucket that is short of full by this many parts holds. */
export function describeBucket({ count, periodMs, limit }: Bucket, debt: number, to: BucketDecision): void {
  to.debt = debt;
  to.remaining = Math.max(Math.floor((limit * periodMs - debt) / periodMs), 0);
  to.resetAfterMs = Math.ceil(debt / count);
}

function greatestCommonDivisor(one: number, other: number): number {
  let [larger, smaller] = [one, other];
  while (smaller !== 0) [larger, smaller] = [smaller, larger % smaller];
  return larger;
}
