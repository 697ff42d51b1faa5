import { beforeZero } from './c-string.js';
import { general } from './decimal.js';

/** What C's isspace calls white space. */
const NUMBER =
  /^[ \t\n\v\f\r]*([+-]?)(?:(0[xX](?:[\da-fA-F]+(?:\.[\da-fA-F]*)?|\.[\da-fA-F]+)(?:[pP][+-]?\d+)?)|(\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)|(inf(?:inity)?)|(nan(?:\(\w*\))?))[ \t\n\v\f\r]*$/i;

/** The number that a string is, as luaO_str2d reads it with the strtod of glibc: hexadecimal, `inf` and `nan` too. */
export function stringToNumber(text: string): number | undefined {
  const digits = plainDigits(text);
  if (digits >= 0) return digits;
  const match = NUMBER.exec(beforeZero(text));
  if (match === null) return undefined;
  const [, sign, hexadecimal, decimal, infinity] = match;
  let value: number;
  if (decimal !== undefined) value = Number(decimal);
  else if (hexadecimal !== undefined) value = hexadecimalToNumber(hexadecimal);
  else value = infinity !== undefined ? Number.POSITIVE_INFINITY : Number.NaN;
  return sign === '-' ? -value : value;
}

const DIGITS_MAX = 15;

/** Most numbers in scripts: a few decimal digits and nothing else. -1 if it is not that. */
function plainDigits(text: string): number {
  if (text.length === 0 || text.length > DIGITS_MAX) return -1;
  let value = 0;
  for (let at = 0; at < text.length; at++) {
    const digit = text.charCodeAt(at) - 48;
    if (digit < 0 || digit > 9) return -1;
    value = value * 10 + digit;
  }
  return value;
}

function hexadecimalToNumber(text: string): number {
  const [mantissa = '', exponent = '0'] = text.slice(2).toLowerCase().split('p');
  const [whole = '', fraction = ''] = mantissa.split('.');
  const digits = whole + fraction;
  const value = digits.length <= 13 ? Number.parseInt(digits, 16) : Number(`0x${digits}`);
  return value * 2 ** (Number(exponent) - 4 * fraction.length);
}

/** `tostring` of a number is C's "%.14g". */
const DIGITS = 14;

export function numberToString(value: number): string {
  if (Number.isInteger(value) && value < 1e14 && value > -1e14)
    return value === 0 && 1 / value < 0 ? '-0' : String(value);
  const shortest = String(value);
  const size = Math.abs(value);
  // At most 14 digits: they are the ones that %.14g prints, and it has no exponent between these bounds.
  if (shortest.length <= 15 && size >= 1e-4 && size < 1e14) return shortest;
  // The NaN that x86 makes of 0/0 has its sign bit set, and printf shows it. JavaScript has only one NaN.
  if (Number.isNaN(value)) return '-nan';
  if (size === Number.POSITIVE_INFINITY) return value > 0 ? 'inf' : '-inf';
  return value < 0 ? `-${general(-value, DIGITS)}` : general(value, DIGITS);
}
