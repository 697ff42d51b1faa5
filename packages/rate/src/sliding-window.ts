/**
 * The arithmetic of a sliding window that is read from two fixed ones:
 *
 *   counted = current + previous × (window − elapsed) / window
 *
 * A request is within the limit where counted + cost ≤ limit. All numbers are integers, and exact: a part of a count is
 * rounded up to a whole one, so rounding never admits a request.
 */

/** The counts of the two windows, those of this region apart, and how long counts of others are on their way. */
export interface ContestedCounts {
  readonly previous: number;
  readonly previousOwn: number;
  readonly current: number;
  readonly currentOwn: number;
  readonly windowMs: number;
  readonly elapsedMs: number;
  readonly delayMs: number;
}

/** What the window before still counts for, rounded up, when this much of the current one has passed. */
export function faded(previous: number, windowMs: number, elapsedMs: number): number {
  return divideUp(previous, windowMs - elapsedMs, windowMs);
}

/**
 * What a region may admit where others see the same room come free, and their admissions are on their way: its share of
 * free room, as the window before was shared; beyond that only room that was free a delay ago already, for by now it
 * would have heard of others that wanted it. The window before has a count.
 *
 * Shares are rounded up, so regions that all take theirs exceed the limit by less than a request each, however fast
 * clients ask. A region whose share has become too small waits for a delay, and for nothing else.
 */
export function contestedRoom(counts: ContestedCounts, limit: number): number {
  const { previous, previousOwn, current, currentOwn, windowMs, elapsedMs, delayMs } = counts;
  const free = limit - faded(previous, windowMs, elapsedMs);
  const room = free - current;
  if (room <= 0) return room;
  const share = divideUp(previousOwn, free, previous) - currentOwn;
  const settled = limit - faded(previous, windowMs, elapsedMs - delayMs) - current;
  return Math.min(room, Math.max(share, settled));
}

/**
 * How long until a request of this cost is within the limit if nothing else is counted meanwhile; 0 where it is
 * already, −1 where it never will be.
 */
export function retryAfterMs(
  current: number,
  previous: number,
  windowMs: number,
  elapsedMs: number,
  limit: number,
  cost: number,
): number {
  const room = limit - cost;
  if (room < 0) return -1;
  if (current + faded(previous, windowMs, elapsedMs) <= room) return 0;
  // Within this window, once enough of the one before has faded.
  if (current <= room) return windowMs - divideDown(room - current, windowMs, previous) - elapsedMs;
  // Only in the next window, in which the current count fades.
  return windowMs - elapsedMs + windowMs - divideDown(room, windowMs, current);
}

/** ⌈ a × b / c ⌉ for integers from 0 on, c not 0. Doubles give it only where the product is exact. */
function divideUp(a: number, b: number, c: number): number {
  const product = a * b;
  if (product <= Number.MAX_SAFE_INTEGER) return Math.ceil(product / c);
  return Number((BigInt(a) * BigInt(b) + BigInt(c) - 1n) / BigInt(c));
}

function divideDown(a: number, b: number, c: number): number {
  const product = a * b;
  if (product <= Number.MAX_SAFE_INTEGER) return Math.floor(product / c);
  return Number((BigInt(a) * BigInt(b)) / BigInt(c));
}
