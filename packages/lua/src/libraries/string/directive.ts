import { exponential, exponentText, fixed, general } from '../../values/decimal.js';
import { toBigLong, toBigUnsignedLong } from '../integers.js';

/** One directive of C's printf, such as `%-5.2f`, and what it makes of a value: glibc's output, byte for byte. */
export interface Directive {
  leftAligned: boolean;
  plus: boolean;
  space: boolean;
  alternative: boolean;
  zeroPadded: boolean;
  width: number;
  /** -1 without one. */
  precision: number;
  /** The letter of the conversion. */
  conversion: string;
}

const DEFAULT_PRECISION = 6;

/** `%d %i %u %o %x %X`. */
export function printInteger(directive: Directive, value: number): string {
  const { conversion, precision } = directive;
  const isSigned = conversion === 'd' || conversion === 'i';
  const integer = isSigned ? toBigLong(value) : toBigUnsignedLong(value);
  const isNegative = integer < 0n;
  let digits = (isNegative ? -integer : integer).toString(radixOf(conversion));
  if (conversion === 'X') digits = digits.toUpperCase();
  if (precision >= 0) digits = integer === 0n && precision === 0 ? '' : digits.padStart(precision, '0');
  let prefix = isSigned ? signOf(directive, isNegative) : '';
  if (directive.alternative && conversion === 'o' && !digits.startsWith('0')) digits = `0${digits}`;
  if (directive.alternative && integer !== 0n && radixOf(conversion) === 16) prefix = `0${conversion}`;
  return pad(directive, prefix, digits, precision < 0);
}

function radixOf(conversion: string): number {
  if (conversion === 'o') return 8;
  return conversion === 'x' || conversion === 'X' ? 16 : 10;
}

/** `%e %E %f %g %G`. */
export function printFloat(directive: Directive, value: number): string {
  const { conversion, alternative } = directive;
  const isUpperCase = conversion === 'E' || conversion === 'G';
  if (!Number.isFinite(value)) {
    const text = Number.isNaN(value) ? 'nan' : 'inf';
    // The processor's own NaN, of 0/0 for instance, has its sign set; JavaScript has one NaN only.
    const prefix = signOf(directive, !(value > 0));
    return pad(directive, prefix, isUpperCase ? text.toUpperCase() : text, false);
  }
  const isNegative = value < 0 || Object.is(value, -0);
  const precision = directive.precision < 0 ? DEFAULT_PRECISION : directive.precision;
  const text = magnitude(conversion, Math.abs(value), precision, alternative);
  return pad(directive, signOf(directive, isNegative), isUpperCase ? text.toUpperCase() : text, true);
}

function magnitude(conversion: string, value: number, precision: number, alternative: boolean): string {
  if (conversion === 'f') {
    const text = fixed(value, precision);
    return alternative && precision === 0 ? `${text}.` : text;
  }
  if (conversion === 'e' || conversion === 'E') {
    const text = exponential(value, precision + 1);
    const e = text.indexOf('e');
    const point = alternative && precision === 0 ? '.' : '';
    return `${text.slice(0, e)}${point}${exponentText(Number(text.slice(e + 1)))}`;
  }
  return general(value, precision === 0 ? 1 : precision, alternative);
}

function signOf(directive: Directive, isNegative: boolean): string {
  if (isNegative) return '-';
  if (directive.plus) return '+';
  return directive.space ? ' ' : '';
}

/** `%s` and `%c`. */
export function printText(directive: Directive, text: string): string {
  return pad(directive, '', text, false);
}

function pad(directive: Directive, prefix: string, text: string, zerosAllowed: boolean): string {
  const missing = directive.width - prefix.length - text.length;
  if (missing <= 0) return prefix + text;
  if (directive.leftAligned) return prefix + text + ' '.repeat(missing);
  if (directive.zeroPadded && zerosAllowed) return prefix + '0'.repeat(missing) + text;
  return ' '.repeat(missing) + prefix + text;
}
