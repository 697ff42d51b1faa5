/**
 * Doubles as decimal digits, exactly as C's printf rounds them: half to even on the exact binary value. JavaScript's
 * toFixed and toExponential are exact too, but round a tie away from zero. A tie is rare and cheap to recognise, so
 * only then are the digits computed with big integers.
 */

/** The largest value for which toFixed writes all digits. */
const TO_FIXED_LIMIT = 1e21;

const parts = new DataView(new ArrayBuffer(8));

/** `%.{decimals}f` of a finite number that is not negative. */
export function fixed(value: number, decimals: number): string {
  // A tie at this decimal is a multiple of half a unit of it, so times 2^(decimals + 1) it is an integer.
  if (value < TO_FIXED_LIMIT && !Number.isInteger(value * 2 ** (decimals + 1))) return value.toFixed(decimals);
  if (Number.isInteger(value)) {
    const digits = value < TO_FIXED_LIMIT ? value.toFixed(0) : BigInt(value).toString();
    return decimals === 0 ? digits : `${digits}.${'0'.repeat(decimals)}`;
  }
  const digits = roundedQuotient(value, 10n ** BigInt(decimals), 1n)
    .toString()
    .padStart(decimals + 1, '0');
  if (decimals === 0) return digits;
  return `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`;
}

/**
 * The first `count` significant digits of a finite number that is not negative, as `d.ddde[+-]x`, the way
 * toExponential writes them.
 */
export function exponential(value: number, count: number): string {
  const text = value.toExponential(count - 1);
  if (value === 0) return text;
  // A tie has exactly one digit more, and that is a five.
  const longer = value.toExponential(count);
  if (longer.charCodeAt(longer.indexOf('e') - 1) !== 0x35) return text;
  const exponent = Number(longer.slice(longer.indexOf('e') + 1));
  const shift = count - 1 - exponent;
  const [numerator, denominator] = shift >= 0 ? [10n ** BigInt(shift), 1n] : [1n, 10n ** BigInt(-shift)];
  let digits = roundedQuotient(value, numerator, denominator).toString();
  let written = exponent;
  if (digits.length > count) {
    digits = digits.slice(0, count);
    written++;
  }
  const sign = written < 0 ? '-' : '+';
  const mantissa = count === 1 ? digits : `${digits.slice(0, 1)}.${digits.slice(1)}`;
  return `${mantissa}e${sign}${Math.abs(written)}`;
}

/**
 * `%.{digitCount}g` of a finite number that is not negative: without an exponent if it lies between -5 and the number
 * of digits, and without zeros at the end unless it is `%#g`.
 */
export function general(value: number, digitCount: number, alternative = false): string {
  const text = exponential(value, digitCount);
  const e = text.indexOf('e');
  const exponent = Number(text.slice(e + 1));
  const digits = text.slice(0, 1) + text.slice(2, e);
  if (exponent < -4 || exponent >= digitCount) {
    return withPoint(digits, 1, alternative) + exponentText(exponent);
  }
  if (exponent < 0) return withPoint(`0${'0'.repeat(-exponent - 1)}${digits}`, 1, alternative);
  return withPoint(digits, exponent + 1, alternative);
}

/** Digits with a decimal point after the first few of them; zeros at the end only in the alternative form. */
function withPoint(digits: string, before: number, alternative = false): string {
  let end = digits.length;
  if (!alternative) while (end > before && digits.charCodeAt(end - 1) === 0x30) end--;
  if (end === before && !alternative) return digits.slice(0, before);
  return `${digits.slice(0, before)}.${digits.slice(before, end)}`;
}

/** At least two digits, as C writes it. */
export function exponentText(exponent: number): string {
  const digits = Math.abs(exponent).toString();
  return `e${exponent < 0 ? '-' : '+'}${digits.length < 2 ? `0${digits}` : digits}`;
}

/** value × numerator ÷ denominator, rounded half to even. */
function roundedQuotient(value: number, numerator: bigint, denominator: bigint): bigint {
  parts.setFloat64(0, value);
  const bits = parts.getBigUint64(0);
  const biased = Number((bits >> 52n) & 0x7ffn);
  const fraction = bits & 0xfffffffffffffn;
  const mantissa = biased === 0 ? fraction : fraction | 0x10000000000000n;
  const exponent = (biased === 0 ? 1 : biased) - 1075;
  const above = mantissa * numerator * (exponent > 0 ? 1n << BigInt(exponent) : 1n);
  const below = denominator * (exponent < 0 ? 1n << BigInt(-exponent) : 1n);
  const quotient = above / below;
  const twice = (above - quotient * below) * 2n;
  if (twice > below || (twice === below && (quotient & 1n) === 1n)) return quotient + 1n;
  return quotient;
}
