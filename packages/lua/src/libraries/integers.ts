/**
 * Doubles as C's integers, the way the compilers of x86-64 convert them: what fits is cut toward zero, and all that
 * does not, NaN too, becomes the "indefinite" -2^63. Redis's scripts see these values, so ours do.
 */

const TWO_31 = 2 ** 31;
const TWO_63 = 2 ** 63;
const INDEFINITE = -(2n ** 63n);

/** A double cut to a `long`, kept as a double: exact, for a double that is an integer is one. There is no -0. */
export function toLong(value: number): number {
  if (value > -TWO_63 && value < TWO_63) return Math.trunc(value) + 0;
  return -TWO_63;
}

/** `(int)(long)value`: the low 32 bits of the `long`. */
export function toInt(value: number): number {
  const cut = value | 0;
  return cut === value ? cut : lowBits(value);
}

function lowBits(value: number): number {
  // Operators on bits take a double modulo 2^32 after cutting it, as C takes the low bits of a long that holds it.
  return value > -TWO_63 && value < TWO_63 ? value | 0 : 0;
}

/** `(int)value`, for which everything that does not fit is the "indefinite" -2^31. */
export function directlyToInt(value: number): number {
  return value > -TWO_31 - 1 && value < TWO_31 ? Math.trunc(value) : -TWO_31;
}

/** `(long)value` in 64 bits. */
export function toBigLong(value: number): bigint {
  if (value > -TWO_63 && value < TWO_63) return BigInt(Math.trunc(value));
  return INDEFINITE;
}

/** `(unsigned long)value` in 64 bits: above 2^63 the compiler converts what lies above, and 2^64 and more become 0. */
export function toBigUnsignedLong(value: number): bigint {
  if (value >= TWO_63) return value < TWO_63 * 2 ? BigInt(value) : 0n;
  return BigInt.asUintN(64, toBigLong(value));
}

export const INT_MAX = TWO_31 - 1;
