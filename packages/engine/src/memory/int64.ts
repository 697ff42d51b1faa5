/**
 * 64-bit numbers as two 32-bit halves. JavaScript's numbers are exact only up to 2^53, and BigInt allocates, so the
 * engine keeps halves in typed arrays and works on them directly; these helpers are for the edges and the slow paths.
 */
export const TWO_POW_32 = 4294967296;

export const INT64_MAX = 9223372036854775807n;
export const INT64_MIN = -9223372036854775808n;

export function joinInt64(high: number, low: number): bigint {
  return (BigInt(high | 0) << 32n) | BigInt(low >>> 0);
}

export function joinUint64(high: number, low: number): bigint {
  return (BigInt(high >>> 0) << 32n) | BigInt(low >>> 0);
}

/** The halves of any 64-bit value, signed or not. */
export function splitInt64(value: bigint): [high: number, low: number] {
  return [highHalf(value), lowHalf(value)];
}

export function highHalf(value: bigint): number {
  return Number(BigInt.asIntN(32, value >> 32n));
}

export function lowHalf(value: bigint): number {
  return Number(BigInt.asIntN(32, value));
}
