/**
 * Latencies in a log-linear histogram (the idea of HdrHistogram): exact below 128 units, then 128 steps for every
 * doubling, so a percentile is off by less than 1 % and recording is one addition. That of `perf_hooks` records one
 * value at a time through a native call; a pipeline of 64 needs 64 of the same value.
 *
 *   unit: 0.1 µs;   largest value: 2^31 units (214 s), above which it is counted as that
 */
const UNITS_PER_MILLISECOND = 10_000;
const LINEAR_BITS = 7;
const LINEAR = 1 << LINEAR_BITS;
const MAX_UNITS = 2 ** 31 - 1;
const BUCKETS = (31 - LINEAR_BITS + 1) * LINEAR;

export class LatencyHistogram {
  readonly #counts = new Float64Array(BUCKETS);
  #total = 0;

  record(milliseconds: number, count: number): void {
    const units = Math.min(Math.max(Math.round(milliseconds * UNITS_PER_MILLISECOND), 0), MAX_UNITS);
    this.#counts[bucketOf(units)]! += count;
    this.#total += count;
  }

  /** The smallest latency, within a bucket's width, that this share of all lies at or below; 0 if there is none. */
  percentileMilliseconds(percentile: number): number {
    const wanted = Math.max(1, Math.ceil((this.#total * percentile) / 100));
    let seen = 0;
    for (let bucket = 0; bucket < BUCKETS; bucket++) {
      seen += this.#counts[bucket]!;
      if (seen >= wanted) return highestOf(bucket) / UNITS_PER_MILLISECOND;
    }
    return 0;
  }
}

function bucketOf(units: number): number {
  if (units < LINEAR) return units;
  const shift = 31 - Math.clz32(units) - LINEAR_BITS;
  return (shift + 1) * LINEAR + (units >>> shift) - LINEAR;
}

function highestOf(bucket: number): number {
  if (bucket < LINEAR) return bucket;
  const shift = Math.floor(bucket / LINEAR) - 1;
  return ((bucket % LINEAR) + LINEAR + 1) * 2 ** shift - 1;
}
