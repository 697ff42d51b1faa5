/**
 * Signed 64-bit integers as decimal text, in and out, exactly and without BigInt.
 *
 * A value is two int32 halves, `high * 2^32 + (low >>> 0)`. The text is the one form Redis accepts as an integer:
 *
 *   "0"  |  ["-"] 1-9 (0-9)*        from -9223372036854775808 to 9223372036854775807
 *
 * so no '+', no leading zeros, no blanks, no "-0". Every integer has exactly one text and every accepted text
 * comes back out as it went in.
 *
 * JavaScript numbers are exact to 2^53, so both directions cut the magnitude at a million: what lies above the cut is
 * below 2^44 (2^64 / 10^6), and a remainder below a million times 2^32 is below 2^52. Every step stays exact.
 */

const MINUS = 0x2d;
const ZERO = 0x30;
const LOWEST_INT32 = -0x8000_0000;
const TWO_TO_31 = 0x8000_0000;
const TWO_TO_32 = 0x1_0000_0000;
const MILLION = 1_000_000;
const BILLION = 1_000_000_000;

/** Any number of up to nine digits fits an int32. */
const INT32_SAFE_DIGITS = 9;
/** 2^63 has nineteen digits; a twentieth is always out of range. */
const MAXIMUM_DIGITS = 19;
const DIGITS_BELOW_CUT = 6;

/** The longest text: nineteen digits and a sign. */
export const INTEGER64_TEXT_BYTES = MAXIMUM_DIGITS + 1;

/** True if the bytes are an integer by the rule above; then out[0] is its high half and out[1] its low half. */
export function parseInteger64(bytes: Uint8Array, start: number, length: number, out: Int32Array): boolean {
  const negative = length > 1 && bytes[start] === MINUS;
  const end = start + length;
  let position = negative ? start + 1 : start;
  const digits = end - position;
  if (digits < 1 || digits > MAXIMUM_DIGITS) return false;
  if (bytes[position] === ZERO && (digits > 1 || negative)) return false;

  if (digits <= INT32_SAFE_DIGITS) {
    let value = 0;
    for (; position < end; position++) {
      const digit = bytes[position] - ZERO;
      if (digit < 0 || digit > 9) return false;
      value = (value * 10 + digit) | 0;
    }
    out[0] = negative ? -1 : 0;
    out[1] = negative ? -value : value;
    return true;
  }
  return parseLong(bytes, position, end, negative, out);
}

/** Ten to nineteen digits, no sign. */
function parseLong(bytes: Uint8Array, start: number, end: number, negative: boolean, out: Int32Array): boolean {
  const cut = end - DIGITS_BELOW_CUT;
  let above = 0;
  let below = 0;
  for (let position = start; position < end; position++) {
    const digit = bytes[position] - ZERO;
    if (digit < 0 || digit > 9) return false;
    if (position < cut) above = above * 10 + digit;
    else below = below * 10 + digit;
  }
  const aboveHigh = Math.floor(above / TWO_TO_32);
  const lowProduct = (above - aboveHigh * TWO_TO_32) * MILLION + below;
  const carry = Math.floor(lowProduct / TWO_TO_32);
  const low = lowProduct - carry * TWO_TO_32;
  const high = aboveHigh * MILLION + carry;

  if (high >= TWO_TO_31 && !(negative && high === TWO_TO_31 && low === 0)) return false;
  out[0] = negative ? ~high + (low === 0 ? 1 : 0) : high;
  out[1] = negative ? -low : low;
  return true;
}

/**
 * Writes the text so that it ends just before `end`, and returns where it starts. There must be INTEGER64_TEXT_BYTES
 * of room before `end`.
 */
export function formatInteger64(high: number, low: number, target: Uint8Array, end: number): number {
  if (high === 0 && low >= 0) return formatDigits(low, target, end);
  if (high >= 0) return formatMagnitude(high, low, target, end);
  // The lowest int32 has no positive int32 to it: it takes the long way.
  const start =
    high === -1 && low < 0 && low > LOWEST_INT32
      ? formatDigits(-low, target, end)
      : formatMagnitude((~high + (low === 0 ? 1 : 0)) | 0, -low | 0, target, end);
  target[start - 1] = MINUS;
  return start - 1;
}

/** How many digits a non-negative int32 has. */
export function digitCount(value: number): number {
  if (value < 100_000) {
    if (value < 100) return value < 10 ? 1 : 2;
    if (value < 1000) return 3;
    return value < 10_000 ? 4 : 5;
  }
  if (value < 10_000_000) return value < 1_000_000 ? 6 : 7;
  if (value < 100_000_000) return 8;
  return value < BILLION ? 9 : 10;
}

/** A non-negative int32, its last digit just before `end`; returns where the first one is. Two digits at a time. */
export function formatDigits(value: number, target: Uint8Array, end: number): number {
  let rest = value | 0;
  let position = end;
  while (rest >= 100) {
    const quotient = (rest / 100) | 0;
    const pair = (rest - quotient * 100) << 1;
    target[--position] = PAIRS[pair + 1];
    target[--position] = PAIRS[pair];
    rest = quotient;
  }
  if (rest >= 10) target[--position] = PAIRS[(rest << 1) + 1];
  target[--position] = rest >= 10 ? PAIRS[rest << 1] : ZERO + rest;
  return position;
}

/** The digits of 00 to 99. */
const PAIRS = Uint8Array.from({ length: 200 }, (_, index) => {
  const number = index >>> 1;
  return ZERO + ((index & 1) === 0 ? Math.floor(number / 10) : number % 10);
});

/**
 * An unsigned 64-bit number, in parts of an int32 each. Its halves come in as int32 all the same: an argument beyond
 * that would be boxed.
 */
function formatMagnitude(highHalf: number, lowHalf: number, target: Uint8Array, end: number): number {
  const high = highHalf >>> 0;
  const highQuotient = Math.floor(high / MILLION);
  const lowDividend = (high - highQuotient * MILLION) * TWO_TO_32 + (lowHalf >>> 0);
  const lowQuotient = Math.floor(lowDividend / MILLION);
  const above = highQuotient * TWO_TO_32 + lowQuotient;
  const below = lowDividend - lowQuotient * MILLION;

  const aboveHigh = Math.floor(above / BILLION);
  const aboveLow = above - aboveHigh * BILLION;
  formatPadded(below, target, end, DIGITS_BELOW_CUT);
  if (aboveHigh === 0) return formatDigits(aboveLow, target, end - DIGITS_BELOW_CUT);
  formatPadded(aboveLow, target, end - DIGITS_BELOW_CUT, INT32_SAFE_DIGITS);
  return formatDigits(aboveHigh, target, end - DIGITS_BELOW_CUT - INT32_SAFE_DIGITS);
}

function formatPadded(value: number, target: Uint8Array, end: number, digits: number): void {
  const start = end - digits;
  let position = formatDigits(value, target, end);
  while (position > start) target[--position] = ZERO;
}
