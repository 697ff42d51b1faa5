import fc from 'fast-check';
import { expect, test } from 'vitest';
import { contestedRoom, faded, retryAfterMs } from './sliding-window.js';

const HIGHEST = Number.MAX_SAFE_INTEGER;
const count = fc.oneof(fc.integer({ min: 0, max: 1_000 }), fc.integer({ min: 0, max: HIGHEST }));
const windowMs = fc.oneof(fc.integer({ min: 1, max: 100_000 }), fc.integer({ min: 1, max: 2 ** 47 - 1 }));
const fraction = fc.double({ min: 0, max: 0.9999999, noNaN: true });

/** Whether current + previous × (window − elapsed) / window + cost ≤ limit, in exact integers. */
function isWithin(
  current: number,
  previous: number,
  window: number,
  elapsed: number,
  limit: number,
  cost: number,
): boolean {
  const left = (BigInt(limit) - BigInt(current) - BigInt(cost)) * BigInt(window);
  return BigInt(previous) * BigInt(window - elapsed) <= left;
}

test('what has faded is exact at every size: the least integer that is not below it', () => {
  fc.assert(
    fc.property(count, windowMs, fraction, (previous, window, part) => {
      const elapsed = Math.floor(window * part);
      const result = BigInt(faded(previous, window, elapsed));
      const product = BigInt(previous) * BigInt(window - elapsed);
      expect(result * BigInt(window) >= product).toBe(true);
      expect((result - 1n) * BigInt(window) < product).toBe(true);
    }),
    { numRuns: 2_000 },
  );
});

test('a window sees all of the one before at its start, hardly any at its end, and never more than earlier', () => {
  expect(faded(100, 1_000, 0)).toBe(100);
  expect(faded(100, 1_000, 500)).toBe(50);
  expect(faded(100, 1_000, 999)).toBe(1);
  fc.assert(
    fc.property(count, fc.integer({ min: 2, max: 10_000 }), fraction, (previous, window, part) => {
      const elapsed = Math.floor((window - 1) * part);
      expect(faded(previous, window, elapsed + 1)).toBeLessThanOrEqual(faded(previous, window, elapsed));
    }),
  );
});

test('a request that waits for retryAfterMs is within the limit, and a millisecond earlier is not', () => {
  const small = fc.integer({ min: 0, max: 50 });
  const sizes = fc.oneof(
    fc.tuple(small, small, small, small, fc.integer({ min: 1, max: 50 })),
    fc.tuple(count, count, count, count, windowMs),
  );
  fc.assert(
    fc.property(sizes, fraction, ([current, previous, limit, cost, window], part) => {
      const elapsed = Math.floor(window * part);
      const wait = retryAfterMs(current, previous, window, elapsed, limit, cost);
      if (cost > limit) {
        expect(wait).toBe(-1);
        return;
      }
      // The current count is in the window before after the end of this one, and gone after the end of the next.
      const after = (ms: number) => {
        const windows = Math.floor((elapsed + ms) / window);
        const into = (elapsed + ms) % window;
        if (windows === 0) return isWithin(current, previous, window, into, limit, cost);
        return isWithin(0, windows === 1 ? current : 0, window, into, limit, cost);
      };
      expect(wait).toBeGreaterThanOrEqual(0);
      expect(after(wait)).toBe(true);
      if (wait > 0) expect(after(wait - 1)).toBe(false);
    }),
    { numRuns: 5_000 },
  );
});

test('shares of what is free are less than a request each above it, at any size, and never more than is free', () => {
  const counts = fc.array(fc.integer({ min: 0, max: 1_000_000 }), { minLength: 2, maxLength: 8 });
  fc.assert(
    fc.property(counts, count, windowMs, fraction, (previousOwns, limit, window, part) => {
      const previous = previousOwns.reduce((total, one) => total + one, 0);
      fc.pre(previous > 0);
      const elapsedMs = Math.floor(window * part);
      const free = limit - faded(previous, window, elapsedMs);
      let all = 0n;
      for (const previousOwn of previousOwns) {
        // The delay is so long that nothing is settled.
        const delayMs = 2 ** 50;
        const counted = { previous, previousOwn, current: 0, currentOwn: 0 };
        const room = contestedRoom({ ...counted, windowMs: window, elapsedMs, delayMs }, limit);
        expect(room).toBeLessThanOrEqual(free);
        all += BigInt(room);
      }
      if (free > 0 && faded(previous, window, elapsedMs - 2 ** 50) > limit) {
        expect(all >= BigInt(free)).toBe(true);
        expect(all < BigInt(free) + BigInt(previousOwns.length)).toBe(true);
      }
    }),
  );
});
