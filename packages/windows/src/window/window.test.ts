import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  fixedWindowAt,
  nextWindow,
  previousWindow,
  remainingMs,
  type Window,
  windowContains,
  windowEndMs,
  windowFrom,
} from './window.js';

const MAX_TIME = 2 ** 52;
const time = fc.oneof(
  fc.integer({ min: -MAX_TIME, max: MAX_TIME }),
  fc.constantFrom(-1, 0, 1, 2 ** 31, 2 ** 32, -(2 ** 31), MAX_TIME, -MAX_TIME, 1_763_251_199_999),
);
const duration = fc.oneof(
  fc.integer({ min: 1, max: 2 ** 47 }),
  fc.constantFrom(1, 2, 3, 7, 1_000, 60_000, 86_400_000, 2 ** 32 - 1, 2 ** 47),
);

/** The same by exact integers of any size. */
function startByBigint(atMs: number, durationMs: number, alignedToMs: number): number {
  const [at, length, origin] = [BigInt(atMs), BigInt(durationMs), BigInt(alignedToMs)];
  const into = (((at - origin) % length) + length) % length;
  return Number(at - into);
}

describe('fixedWindowAt', () => {
  test('is exact for all times, before 1970 and past 2^32 too', () => {
    fc.assert(
      fc.property(time, duration, fc.integer({ min: -(2 ** 40), max: 2 ** 40 }), (atMs, durationMs, alignedToMs) => {
        const { startMs } = fixedWindowAt(atMs, durationMs, alignedToMs);
        expect(startMs).toBe(startByBigint(atMs, durationMs, alignedToMs));
      }),
    );
  });

  test('every instant is in exactly one window: the one that contains it', () => {
    fc.assert(
      fc.property(time, duration, (atMs, durationMs) => {
        const window = fixedWindowAt(atMs, durationMs);
        expect(windowContains(window, atMs)).toBe(true);
        expect(windowContains(nextWindow(window), atMs)).toBe(false);
        expect(windowContains(previousWindow(window), atMs)).toBe(false);
      }),
    );
  });

  test('all instants of a window have the same one, the ones beside it the neighbours', () => {
    fc.assert(
      fc.property(time, duration, (atMs, durationMs) => {
        const window = fixedWindowAt(atMs, durationMs);
        expect(fixedWindowAt(window.startMs, durationMs)).toEqual(window);
        expect(fixedWindowAt(windowEndMs(window) - 1, durationMs)).toEqual(window);
        expect(fixedWindowAt(windowEndMs(window), durationMs)).toEqual(nextWindow(window));
        expect(fixedWindowAt(window.startMs - 1, durationMs)).toEqual(previousWindow(window));
      }),
    );
  });

  test('a fraction of a millisecond belongs to the millisecond it is part of', () => {
    expect(fixedWindowAt(999.999, 1_000).startMs).toBe(0);
    expect(fixedWindowAt(-0.001, 1_000).startMs).toBe(-1_000);
  });

  test('a minute of 1969 begins before its end', () => {
    expect(fixedWindowAt(-1, 60_000)).toEqual({ startMs: -60_000, durationMs: 60_000 });
    expect(fixedWindowAt(-60_000, 60_000)).toEqual({ startMs: -60_000, durationMs: 60_000 });
    expect(fixedWindowAt(-60_001, 60_000)).toEqual({ startMs: -120_000, durationMs: 60_000 });
  });
});

test('next and previous undo each other', () => {
  fc.assert(
    fc.property(time, duration, (startMs, durationMs) => {
      const window: Window = windowFrom(startMs, durationMs);
      expect(previousWindow(nextWindow(window))).toEqual(window);
    }),
  );
});

test('what remains falls from the duration at the start to 0 at the end, and stays there', () => {
  fc.assert(
    fc.property(time, duration, fc.nat(), (startMs, durationMs, after) => {
      const window = windowFrom(startMs, durationMs);
      expect(remainingMs(window, startMs)).toBe(durationMs);
      expect(remainingMs(window, windowEndMs(window) - 1)).toBe(1);
      expect(remainingMs(window, windowEndMs(window) + after)).toBe(0);
    }),
  );
});

test.each([
  [0, 0],
  [0, -1],
  [0, 1.5],
  [0, Number.NaN],
  [Number.NaN, 1],
  [Number.POSITIVE_INFINITY, 1],
  [2 ** 53, 1],
  [2 ** 53 - 1, 1],
  [-(2 ** 53), 1],
])('a window from %s for %s is refused', (startMs, durationMs) => {
  expect(() => windowFrom(startMs, durationMs)).toThrow(RangeError);
  expect(() => fixedWindowAt(startMs, durationMs)).toThrow(RangeError);
});
