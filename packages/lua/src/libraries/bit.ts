import type { Value } from '../values/value.js';
import { checkNumber } from './checks.js';
import type { Library } from './library.js';

/**
 * The library `bit` (Lua BitOp 1.0.2): operations on 32 bits. A double becomes 32 bits by adding 2^52 + 2^51: the sum
 * has its integer, rounded half to even, in the low bits. That defines the result for every double, NaN too.
 */

const MAGIC = 2 ** 52 + 2 ** 51;
const DIGITS_AT_MOST = 8;

const double = new Float64Array(1);
const words = new Int32Array(double.buffer);

function toBits(value: Value, position: number, given: number): number {
  const number = checkNumber(value, position, given);
  const bits = number | 0;
  if (bits === number) return bits;
  if (Number.isNaN(number)) return 0;
  double[0] = number + MAGIC;
  return words[0]!;
}

/** The low five bits of the second argument, as far as a shift looks at it. */
function toShift(value: Value, given: number): number {
  return toBits(value, 2, given) & 31;
}

function tobit(value: Value): number {
  return toBits(value, 1, arguments.length);
}

function bnot(value: Value): number {
  return ~toBits(value, 1, arguments.length);
}

function band(first: Value, ...others: Value[]): number {
  let bits = toBits(first, 1, arguments.length);
  // From the last to the second, as the original goes: which of two wrong arguments is named depends on it.
  for (let i = others.length - 1; i >= 0; i--) bits &= toBits(others[i], i + 2, arguments.length);
  return bits;
}

function bor(first: Value, ...others: Value[]): number {
  let bits = toBits(first, 1, arguments.length);
  for (let i = others.length - 1; i >= 0; i--) bits |= toBits(others[i], i + 2, arguments.length);
  return bits;
}

function bxor(first: Value, ...others: Value[]): number {
  let bits = toBits(first, 1, arguments.length);
  for (let i = others.length - 1; i >= 0; i--) bits ^= toBits(others[i], i + 2, arguments.length);
  return bits;
}

function lshift(value: Value, shift: Value): number {
  const bits = toBits(value, 1, arguments.length);
  return bits << toShift(shift, arguments.length);
}

function rshift(value: Value, shift: Value): number {
  const bits = toBits(value, 1, arguments.length);
  return (bits >>> toShift(shift, arguments.length)) | 0;
}

function arshift(value: Value, shift: Value): number {
  const bits = toBits(value, 1, arguments.length);
  return bits >> toShift(shift, arguments.length);
}

function rol(value: Value, shift: Value): number {
  const bits = toBits(value, 1, arguments.length);
  const left = toShift(shift, arguments.length);
  return (bits << left) | (bits >>> (32 - left));
}

function ror(value: Value, shift: Value): number {
  const bits = toBits(value, 1, arguments.length);
  const right = toShift(shift, arguments.length);
  return (bits << (32 - right)) | (bits >>> right);
}

function bswap(value: Value): number {
  const bits = toBits(value, 1, arguments.length);
  return (bits >>> 24) | ((bits >>> 8) & 0xff00) | ((bits & 0xff00) << 8) | (bits << 24);
}

/** Hexadecimal digits, eight without a second argument; a negative number of them means capitals. */
function tohex(value: Value, digits: Value): string {
  const bits = toBits(value, 1, arguments.length);
  const count = arguments.length < 2 ? DIGITS_AT_MOST : toBits(digits, 2, arguments.length);
  const text = (bits >>> 0).toString(16).padStart(DIGITS_AT_MOST, '0');
  const end = text.slice(DIGITS_AT_MOST - Math.min(Math.abs(count), DIGITS_AT_MOST));
  return count < 0 ? end.toUpperCase() : end;
}

export const bit: Library = { tobit, tohex, bnot, band, bor, bxor, lshift, rshift, arshift, rol, ror, bswap };
