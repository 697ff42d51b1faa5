/**
 * How durations are sorted for histograms: bucket n holds what took up to 2^n microseconds, the last one everything
 * longer. Twenty-two of them reach from one microsecond to one second, each twice the one before.
 */
export const DURATION_BUCKETS = 22;

export function durationBucket(microseconds: number): number {
  if (microseconds <= 1) return 0;
  if (microseconds > LONGEST_MICROSECONDS) return DURATION_BUCKETS - 1;
  return 32 - Math.clz32(Math.ceil(microseconds) - 1);
}

/** The upper bound of each bucket but the last, which has none, in seconds. */
export const bucketBoundsSeconds: readonly number[] = Array.from(
  { length: DURATION_BUCKETS - 1 },
  (_, index) => 2 ** index / 1e6,
);

const LONGEST_MICROSECONDS = 2 ** (DURATION_BUCKETS - 2);
