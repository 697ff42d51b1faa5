/** `left % right`, as lvm.c computes it. */
export function modulo(left: number, right: number): number {
  return left - Math.floor(left / right) * right;
}

/** C's pow: 1 to any power is 1, and -1 to an infinite one. */
export function power(base: number, exponent: number): number {
  if (base === 1 || (base === -1 && !Number.isFinite(exponent) && !Number.isNaN(exponent))) return 1;
  // These two are exact in C. Other powers of fractions may differ from glibc's in the last bit.
  if (exponent === 2) return base * base;
  if (exponent === 0.5 && base > 0) return Math.sqrt(base);
  return base ** exponent;
}
