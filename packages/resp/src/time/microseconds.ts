import type { Clock } from './clock.js';

const last = new WeakMap<Clock, number>();

/**
 * Microseconds since 1970, for TIME and MONITOR. The server's clock counts milliseconds; within one, the monotonic
 * clock goes on counting, and the result never runs backwards unless the clock does.
 */
export function microsecondsOf(clock: Clock): number {
  const milliseconds = Math.floor(clock.now());
  const within = Math.floor((clock.monotonic() % 1) * 1000);
  const before = last.get(clock) ?? 0;
  const isSameMillisecond = Math.floor(before / 1000) === milliseconds;
  const microseconds = milliseconds * 1000 + within;
  const result = isSameMillisecond ? Math.max(microseconds, before) : microseconds;
  last.set(clock, result);
  return result;
}
