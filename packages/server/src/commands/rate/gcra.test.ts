import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { TestLane } from '../../testing/index.js';
import { type BucketDecision, bucketOf, decideBucket } from './bucket-arithmetic.js';

let lane: TestLane;
let call: (...words: (string | number)[]) => string;
beforeEach(() => {
  lane = new TestLane();
  const session = lane.open();
  call = (...words) => {
    const reply = session.call(...words);
    expect(lane.faults).toEqual([]);
    return reply;
  };
});

function gcra(...words: (string | number)[]): number[] {
  return [...call('RATE.GCRA', 'k', ...words).matchAll(/:(-?\d+)\r\n/g)].map(([, digits]) => Number(digits));
}

describe('RATE.GCRA', () => {
  test('replies as CL.THROTTLE does, in milliseconds: limited, limit, remaining, retry after, reset after', () => {
    expect(gcra(2, 1, 1_000)).toEqual([0, 3, 2, -1, 1_000]);
    expect(gcra(2, 1, 1_000)).toEqual([0, 3, 1, -1, 2_000]);
    expect(gcra(2, 1, 1_000)).toEqual([0, 3, 0, -1, 3_000]);
    expect(gcra(2, 1, 1_000)).toEqual([1, 3, 0, 1_000, 3_000]);
    lane.clock.advance(999);
    expect(gcra(2, 1, 1_000)).toEqual([1, 3, 0, 1, 2_001]);
    lane.clock.advance(1);
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
      lane.clock.advance(1);
      if (admitted > 10_000) break;
    }
    // A burst of one: after the first of a millisecond the bucket needs a third of a microsecond, that is the next millisecond.
    expect(admitted).toBe(300);
    const seven = new TestLane();
    const session = seven.open();
    let taken = 0;
    for (let millisecond = 0; millisecond <= 9_000; millisecond++) {
      if (session.call('RATE.GCRA', 'k', 0, 7, 3_000).startsWith('*5\r\n:0')) taken++;
      seven.clock.advance(1);
    }
    // Seven in three seconds, the first at 0: each after the last by 3000/7 ms, rounded up to when it is asked for.
    expect(taken).toBe(1 + Math.floor(9_000 / Math.ceil(3_000 / 7)));
  });

  test('the rate is exact in the long run, whatever it is', () => {
    const part = fc.record({
      burst: fc.integer({ min: 0, max: 20 }),
      count: fc.integer({ min: 1, max: 500 }),
      periodMs: fc.integer({ min: 1, max: 5_000 }),
      steps: fc.array(fc.tuple(fc.integer({ min: 0, max: 3_000 }), fc.integer({ min: 0, max: 25 })), { maxLength: 80 }),
    });
    fc.assert(
      fc.property(part, ({ burst, count, periodMs, steps }) => {
        const fresh = new TestLane();
        const session = fresh.open();
        // The same with exact fractions: tokens × periodMs as integers.
        const limit = BigInt(burst + 1);
        const capacity = limit * BigInt(periodMs);
        let tokens = capacity;
        for (const [afterMs, cost] of steps) {
          fresh.clock.advance(afterMs);
          tokens += BigInt(afterMs) * BigInt(count);
          if (tokens > capacity) tokens = capacity;
          const price = BigInt(cost) * BigInt(periodMs);
          const allowed = price <= tokens;
          if (allowed) tokens -= price;
          const reply = session.call('RATE.GCRA', 'k', burst, count, periodMs, cost);
          const [limited, , remaining] = [...reply.matchAll(/:(-?\d+)\r\n/g)].map(([, digits]) => Number(digits));
          expect(limited === 0).toBe(allowed);
          expect(BigInt(remaining!)).toBe(tokens / BigInt(periodMs));
        }
      }),
      { numRuns: 150 },
    );
  });

  test('whoever waits as long as told is admitted, and not a millisecond earlier', () => {
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
    lane.clock.advance(3_000 + 3_000);
    lane.lane.engine.advanceTo(lane.clock.now());
    while (lane.lane.engine.expireSome(1_000) > 0);
    expect(lane.lane.engine.keyCount()).toBe(0);
    expect(gcra(5, 1, 1_000, 6)[0]).toBe(0);
  });

  test('a billion a minute is worked with exactly; what cannot be is refused', () => {
    expect(gcra(0, 1_000_000_000, 60_000)).toEqual([0, 1, 0, -1, 1]);
    expect(call('RATE.GCRA', 'k', 0, 4_194_305, 2)).toBe(
      '-ERR burst, count and period are too large to be worked with exactly\r\n',
    );
    expect(call('RATE.GCRA', 'k', 2 ** 40, 1, 2 ** 40)).toMatch(/^-ERR burst, count/);
  });

  test('a bucket that takes decades to fill is worked with, one that takes longer is refused', () => {
    expect(gcra(0, 1, 2 ** 40)).toEqual([0, 1, 0, -1, 2 ** 40]);
    expect(gcra(0, 1, 2 ** 40)).toEqual([1, 1, 0, 2 ** 40, 2 ** 40]);
    expect(call('RATE.GCRA', 'k', 1, 1, 2 ** 40)).toMatch(/^-ERR burst, count/);
    expect(call('RATE.GCRA', 'k', 499, 1, 2 ** 40)).toMatch(/^-ERR burst, count/);
  });

  test.each([
    [[-1, 1, 1000], 'ERR limit is out of range, must not be negative and at most 9007199254740991'],
    [[1, 0, 1000], 'ERR limit is out of range, must not be negative and at most 9007199254740991'],
    [[1, 1, 0], 'ERR window is out of range, must be from 1 to 140737488355327 milliseconds'],
    [[1, 1, 1000, -1], 'ERR cost is out of range, must not be negative and at most 9007199254740991'],
    [[1, 1, 1000, 'x'], 'ERR value is not an integer or out of range'],
    [[1, 1, 1000, 1, 1], 'ERR syntax error'],
  ])('%j is refused', (words, error) => {
    expect(call('RATE.GCRA', 'k', ...words)).toBe(`-${error}\r\n`);
    expect(lane.lane.engine.keyCount()).toBe(0);
  });
});
