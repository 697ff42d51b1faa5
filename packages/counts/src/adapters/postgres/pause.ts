import { CONFLICT_MAX_MS, CONFLICT_MIN_MS, RECONNECT_MAX_MS, RECONNECT_MIN_MS } from './bounds.js';
import type { Failure } from './failure.js';

/**
 * How long to wait before another attempt: longer after each failure in a row. Half of it is left to chance, because
 * instances that failed at the same moment would otherwise meet again at the next.
 */
export function pauseMs(failure: Failure, failuresBefore: number, random = Math.random): number {
  const [first, longest] =
    failure === 'conflict' ? [CONFLICT_MIN_MS, CONFLICT_MAX_MS] : [RECONNECT_MIN_MS, RECONNECT_MAX_MS];
  const most = Math.min(first * 2 ** failuresBefore, longest);
  return (most * (1 + random())) / 2;
}
