import { type Window, windowFrom } from './window.js';

export const INT64_MAX = 2n ** 63n - 1n;

/** The same bounds for all stores, so that one can replace another. */
export function checkAmount(amount: number | bigint): bigint {
  if (typeof amount === 'number' && !Number.isSafeInteger(amount)) {
    throw new RangeError(`an amount is an integer, past 2^53 a bigint, not ${amount}`);
  }
  const exact = BigInt(amount);
  if (exact < 0n || exact > INT64_MAX) throw new RangeError(`an amount is from 0 to 2^63 - 1, not ${amount}`);
  return exact;
}

/** A half of a surrogate pair has no bytes of its own: two such keys would become one. */
export function checkKey(key: string): string {
  if (typeof key !== 'string' || !key.isWellFormed()) throw new TypeError('a key is a well-formed string');
  return key;
}

export function checkWindow({ startMs, durationMs }: Window): Window {
  return windowFrom(startMs, durationMs);
}
