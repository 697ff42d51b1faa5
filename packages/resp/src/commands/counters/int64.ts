/**
 * Signed 64-bit arithmetic on pairs of int32 halves, for commands that calculate before they call the engine. Results
 * go to `result`, one per thread; nothing is allocated.
 */
export const result = { high: 0, low: 0 };

export const HIGHEST_HIGH = 0x7fff_ffff;
export const HIGHEST_LOW = -1;
export const LOWEST_HIGH = -0x8000_0000;
export const LOWEST_LOW = 0;

const TWO_TO_32 = 0x1_0000_0000;

/** Adds into `result`; false where the sum does not fit. */
export function addInt64(high: number, low: number, otherHigh: number, otherLow: number): boolean {
  const lowSum = (low >>> 0) + (otherLow >>> 0);
  return store(high + otherHigh + (lowSum >= TWO_TO_32 ? 1 : 0), lowSum);
}

/** Subtracts the other into `result`; false where the difference does not fit. */
export function subtractInt64(high: number, low: number, otherHigh: number, otherLow: number): boolean {
  const lowDifference = (low >>> 0) - (otherLow >>> 0);
  return store(high - otherHigh - (lowDifference < 0 ? 1 : 0), lowDifference);
}

/** Negative, zero or positive, as the first is below, equal to or above the other. */
export function compareInt64(high: number, low: number, otherHigh: number, otherLow: number): number {
  return high === otherHigh ? (low >>> 0) - (otherLow >>> 0) : high - otherHigh;
}

function store(exactHigh: number, exactLow: number): boolean {
  result.high = exactHigh | 0;
  result.low = exactLow | 0;
  return result.high === exactHigh;
}
