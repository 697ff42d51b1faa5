import type { Window } from './window.js';

/**
 * A store that counts occurrences in fixed windows of time. It makes no decisions, knows no limits, refuses no amount
 * for being too large, smooths no counts and keeps no history. `describeWindowCounterStore` in
 * `@quotadb/windows/conformance` tests whether a store keeps this contract.
 *
 * A count belongs to a key and a window; windows that differ in either bound count apart. Counts are 64-bit integers.
 * An operation that fails rejects with the store's own error, and has been tried once.
 */
export interface WindowCounterStore {
  /**
   * Adds the amount (1 if left out; not negative) in one atomic step and returns the count right after it. A new key
   * counts from 0, without a race between the first callers.
   */
  increment(key: string, window: Window, amount?: number | bigint): Promise<bigint>;

  /** The count, 0 where there is none. Changes nothing. */
  read(key: string, window: Window): Promise<bigint>;

  /**
   * Optional: when the count of a window expires by the store's own clock, for stores that know. Undefined where there
   * is no count.
   */
  expiry?(key: string, window: Window): Promise<WindowExpiry | undefined>;
}

export interface WindowExpiry {
  /** The end of the window. */
  readonly endMs: number;
  /** Until the store drops the count, which may be a little after the end; never negative. */
  readonly remainingMs: number;
}
