import type { ReplyWriter } from '@quotadb/wire';

/** One per thread, written and read at once. */
const numbers = new Float64Array(5);

/**
 * The reply of every limit: allowed (1 or 0), two figures of its own, then the milliseconds until a reset and a retry.
 */
export function writeDecision(
  reply: ReplyWriter,
  isAllowed: boolean,
  first: number,
  second: number,
  resetMs: number,
  retryAfterMs: number,
): void {
  numbers[0] = isAllowed ? 1 : 0;
  numbers[1] = first;
  numbers[2] = second;
  numbers[3] = resetMs;
  numbers[4] = retryAfterMs;
  reply.integerArray(numbers);
}
