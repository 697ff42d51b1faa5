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

/** In memory a 64-bit amount is two words, the low half first. */
const HIGH_HALF = 1;

export function uint64At(memory: Int32Array, at: number): bigint {
  return joinUint64(memory[at + HIGH_HALF], memory[at]);
}

export function setInt64At(memory: Int32Array, at: number, value: bigint): void {
  memory[at] = lowHalf(value);
  memory[at + HIGH_HALF] = highHalf(value);
}

/** Adds to the amount at an address; a sum beyond 64 bits wraps. */
export function addInt64At(memory: Int32Array, at: number, high: number, low: number): void {
  const sum = (memory[at] + low) | 0;
  memory[at] = sum;
  memory[at + HIGH_HALF] = (memory[at + HIGH_HALF] + high + (sum >>> 0 < low >>> 0 ? 1 : 0)) | 0;
}

/** Whether the unsigned amount at an address cannot take this one more. */
export function wouldOverflowAt(memory: Int32Array, at: number, high: number, low: number): boolean {
  const carry = (memory[at] >>> 0) + (low >>> 0) >= TWO_POW_32 ? 1 : 0;
  return (memory[at + HIGH_HALF] >>> 0) + (high >>> 0) + carry >= TWO_POW_32;
}

/** Makes the unsigned amount at an address at least the one at `least`. */
export function raiseUint64At(memory: Int32Array, at: number, least: number): void {
  if (uint64At(memory, least) > uint64At(memory, at)) memory.copyWithin(at, least, least + 2);
}
