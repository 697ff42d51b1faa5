import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type BucketDecision, bucketOf, decideBucket } from './bucket.js';

test('a request that waits for retryAfterMs is admitted, and not a millisecond earlier', () => {
  const decision: BucketDecision = { allowed: false, debt: 0, remaining: 0, retryAfterMs: 0, resetAfterMs: 0 };
  fc.assert(
    fc.property(
      fc.nat(1_000),
      fc.integer({ min: 1, max: 100_000 }),
      fc.integer({ min: 1, max: 100_000 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.nat(1_000),
      (burst, count, periodMs, part, cost) => {
        const bucket = bucketOf(burst, count, periodMs)!;
        const debt = Math.floor(bucket.limit * bucket.periodMs * part);
        decideBucket(bucket, debt, cost, decision);
        const { allowed, retryAfterMs } = decision;
        if (allowed || cost > bucket.limit) {
          expect(retryAfterMs).toBe(-1);
          return;
        }
        const after = (ms: number) => {
          decideBucket(bucket, Math.max(debt - ms * bucket.count, 0), cost, decision);
          return decision.allowed;
        };
        expect(after(retryAfterMs)).toBe(true);
        expect(after(retryAfterMs - 1)).toBe(false);
      },
    ),
    { numRuns: 1_000 },
  );
});

test('rates that cannot be worked with exactly, or fill a bucket in more than 34 years, are refused', () => {
  expect(bucketOf(0, 1_000_000_000, 60_000)).toEqual({ count: 50_000, periodMs: 3, limit: 1 });
  expect(bucketOf(0, 4_194_305, 2)).toBeUndefined();
  expect(bucketOf(2 ** 40, 1, 2 ** 40)).toBeUndefined();
  expect(bucketOf(0, 1, 2 ** 40)).toBeDefined();
  expect(bucketOf(1, 1, 2 ** 40)).toBeUndefined();
  expect(bucketOf(499, 1, 2 ** 40)).toBeUndefined();
});
