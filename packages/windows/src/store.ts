import type { Window } from './window.js';

/**
 * What a store must be able to do so that occurrences can be counted in fixed windows of time on it. Nothing more is
 * asked of it: it makes no decisions, knows no limits, refuses nothing for being too much, smooths nothing and keeps no
 * history. `describeWindowCounterStore` in `@quotadb/windows/conformance` tests whether a store keeps this contract.
 *
 * A count belongs to a key together with a window, and both bounds of the window are part of what it is. Counts are
 * 64-bit integers. An operation that fails rejects with the store's own error, and has been tried once.
 */
export interface WindowCounterStore {
  /**
   * Adds the amount (1 if left out; not negative) in one atomic step and returns the count right after it. What was
   * never counted before counts from 0, without a race between those who count first.
   */
  increment(key: string, window: Window, amount?: number | bigint): Promise<bigint>;

  /** The count, 0 where there is none. Changes nothing. */
  read(key: string, window: Window): Promise<bigint>;

  /**
   * Optional: when the count of a window goes away by the store's own clock, for stores that know. Undefined where
   * there is no count.
   */
  expiry?(key: string, window: Window): Promise<WindowExpiry | undefined>;
}

export interface WindowExpiry {
  /** The end of the window. */
  readonly endMs: number;
  /** Until the store lets the count go, which may be a little after the end; never negative. */
  readonly remainingMs: number;
}
