import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { RateNode } from './testing/rate-node.js';

let node: RateNode;
beforeEach(() => {
  node = new RateNode();
});

function gcra(...words: Parameters<RateNode['gcra']>): number[] {
  const { allowed, limit, remaining, retryAfterMs, resetAfterMs } = node.gcra(...words);
  return [allowed ? 0 : 1, limit, remaining, retryAfterMs, resetAfterMs];
}

describe('a bucket', () => {
  test('decides as CL.THROTTLE does, in milliseconds: limited, limit, remaining, retry after, reset after', () => {
    expect(gcra(2, 1, 1_000)).toEqual([0, 3, 2, -1, 1_000]);
    expect(gcra(2, 1, 1_000)).toEqual([0, 3, 1, -1, 2_000]);
    expect(gcra(2, 1, 1_000)).toEqual([0, 3, 0, -1, 3_000]);
    expect(gcra(2, 1, 1_000)).toEqual([1, 3, 0, 1_000, 3_000]);
    node.advance(999);
    expect(gcra(2, 1, 1_000)).toEqual([1, 3, 0, 1, 2_001]);
    node.advance(1);
    expect(gcra(2, 1, 1_000)).toEqual([0, 3, 0, -1, 3_000]);
  });

  test('a denied request takes nothing', () => {
    gcra(0, 1, 1_000);
    for (let attempt = 0; attempt < 50; attempt++) expect(gcra(0, 1, 1_000)[3]).toBe(1_000);
  });

  test('a cost is taken whole or not at all; one above the limit never is', () => {
    expect(gcra(9, 10, 1_000, 7)).toEqual([0, 10, 3, -1, 700]);
    expect(gcra(9, 10, 1_000, 4)).toEqual([1, 10, 3, 100, 700]);
    expect(gcra(9, 10, 1_000, 11)).toEqual([1, 10, 3, -1, 700]);
    expect(gcra(9, 10, 1_000, 0)).toEqual([0, 10, 3, -1, 700]);
    expect(gcra(9, 10, 1_000, 3)).toEqual([0, 10, 0, -1, 1_000]);
  });

  test('at high rates not one request too many or too few is admitted', () => {
    // Three million a second: a third of a microsecond each.
    let admitted = 0;
    for (let millisecond = 0; millisecond < 300; millisecond++) {
      while (gcra(0, 3_000, 1, 1)[0] === 0) admitted++;
      node.advance(1);
      if (admitted > 10_000) break;
    }
    // A burst of one: after the first request of a millisecond the bucket needs a third of a microsecond, so the next
    // request is admitted in the next millisecond.
    expect(admitted).toBe(300);
    const seven = new RateNode();
    let taken = 0;
    for (let millisecond = 0; millisecond <= 9_000; millisecond++) {
      if (seven.gcra(0, 7, 3_000).allowed) taken++;
      seven.advance(1);
    }
    // Seven in three seconds, the first at 0: each after the last by 3000/7 ms, rounded up to when it is asked for.
    expect(taken).toBe(1 + Math.floor(9_000 / Math.ceil(3_000 / 7)));
  });

  test('every rate is exact in the long run', () => {
    const part = fc.record({
      burst: fc.integer({ min: 0, max: 20 }),
      count: fc.integer({ min: 1, max: 500 }),
      periodMs: fc.integer({ min: 1, max: 5_000 }),
      steps: fc.array(fc.tuple(fc.integer({ min: 0, max: 3_000 }), fc.integer({ min: 0, max: 25 })), { maxLength: 80 }),
    });
    fc.assert(
      fc.property(part, ({ burst, count, periodMs, steps }) => {
        const fresh = new RateNode();
        // The same with exact fractions: tokens × periodMs as integers.
        const limit = BigInt(burst + 1);
        const capacity = limit * BigInt(periodMs);
        let tokens = capacity;
        for (const [afterMs, cost] of steps) {
          fresh.advance(afterMs);
          tokens += BigInt(afterMs) * BigInt(count);
          if (tokens > capacity) tokens = capacity;
          const price = BigInt(cost) * BigInt(periodMs);
          const allowed = price <= tokens;
          if (allowed) tokens -= price;
          const decision = fresh.gcra(burst, count, periodMs, cost);
          expect(decision.allowed).toBe(allowed);
          expect(BigInt(decision.remaining)).toBe(tokens / BigInt(periodMs));
        }
      }),
      { numRuns: 150 },
    );
  });

  test('the same rate in other words is the same bucket; another rate is another', () => {
    gcra(0, 1, 1_000);
    expect(gcra(0, 60, 60_000)[0]).toBe(1);
    expect(gcra(0, 2, 1_000)[0]).toBe(0);
  });

  test('a larger burst sees the same bucket, and so does a smaller one', () => {
    gcra(9, 1, 1_000, 10);
    expect(gcra(19, 1, 1_000, 10)).toEqual([0, 20, 0, -1, 20_000]);
    expect(gcra(4, 1, 1_000)).toEqual([1, 5, 0, 16_000, 20_000]);
  });

  test('a bucket that is full again is gone from memory soon after', () => {
    gcra(5, 1, 1_000, 3);
    node.advance(3_000 + 3_000);
    node.expireAll();
    expect(node.engine.keyCount()).toBe(0);
    expect(gcra(5, 1, 1_000, 6)[0]).toBe(0);
  });

  test('a billion a minute is worked with exactly', () => {
    expect(gcra(0, 1_000_000_000, 60_000)).toEqual([0, 1, 0, -1, 1]);
  });

  test('a bucket that takes decades to fill is worked with', () => {
    expect(gcra(0, 1, 2 ** 40)).toEqual([0, 1, 0, -1, 2 ** 40]);
    expect(gcra(0, 1, 2 ** 40)).toEqual([1, 1, 0, 2 ** 40, 2 ** 40]);
  });
});
