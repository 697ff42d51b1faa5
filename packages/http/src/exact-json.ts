import { randomUUID } from 'node:crypto';

/**
 * JSON in which no digit of an integer is lost. JSON.parse turns every number into a double, which is exact for
 * integers up to 2^53 - 1 only. Here a longer literal arrives as a bigint if it stands for a larger integer, and as
 * NaN, which no schema accepts, if it stands for a fraction that a double would round to an integer.
 *
 * A body comes from anybody and is read on the thread that serves everybody: each character is looked at a fixed number
 * of times. No expression here may try again from a later place what it has read once.
 */
const NUMBER = /^(-?)(0|[1-9]\d*)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** A double holds every decimal of this many digits exactly; with an exponent, a short literal is a long number. */
const EXACT_LITERAL_LENGTH = 15;

/** No 64-bit integer has more digits; without a limit, 1e999999999 would be a billion of them. */
const MAX_INTEGER_DIGITS = 20;

export function parseExactJson(text: string): unknown {
  const long: (bigint | number)[] = [];
  // Long literals travel through JSON.parse as strings that no sender can have guessed.
  let mark = '';
  let rewritten = '';
  let copiedTo = 0;
  for (let index = 0; index < text.length; ) {
    const code = text.charCodeAt(index);
    if (code === QUOTE) {
      index = endOfString(text, index);
      continue;
    }
    if (!isNumberStart(code)) {
      index++;
      continue;
    }
    const start = index;
    index = endOfNumber(text, start);
    if (index - start <= EXACT_LITERAL_LENGTH && !hasExponent(text, start, index)) continue;
    const number = exactNumber(text.slice(start, index));
    if (number === undefined) continue;
    mark ||= randomUUID();
    rewritten += `${text.slice(copiedTo, start)}"${mark}${long.push(number) - 1}"`;
    copiedTo = index;
  }
  if (mark === '') return JSON.parse(text);
  return JSON.parse(rewritten + text.slice(copiedTo), (_key, value) =>
    typeof value === 'string' && value.startsWith(mark) ? long[Number(value.slice(mark.length))] : value,
  );
}

/** Values up to 2^53 - 1 are plain numbers; past that they are strings, which no JSON reader rounds. */
export function jsonInteger(value: bigint): string {
  return isExactNumber(value) ? value.toString() : `"${value}"`;
}

/** JSON of a value that may hold bigints, written as `jsonInteger` writes them. */
export function writeExactJson(value: unknown): string {
  return JSON.stringify(value, (_key, part) => {
    if (typeof part !== 'bigint') return part;
    return isExactNumber(part) ? Number(part) : part.toString();
  });
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const MINUS = 0x2d;

/** The place behind the string that begins here; the end of the text where it has no end, which JSON.parse refuses. */
function endOfString(text: string, start: number): number {
  for (let index = start + 1; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === QUOTE) return index + 1;
    if (code === BACKSLASH) index++;
  }
  return text.length;
}

function endOfNumber(text: string, start: number): number {
  let index = start + 1;
  while (index < text.length && isNumberPart(text.charCodeAt(index))) index++;
  return index;
}

function hasExponent(text: string, start: number, end: number): boolean {
  for (let index = start; index < end; index++) if ((text.charCodeAt(index) | 0x20) === 0x65) return true;
  return false;
}

function isNumberStart(code: number): boolean {
  return isDigit(code) || code === MINUS;
}

/** Digits, and + - . e E. */
function isNumberPart(code: number): boolean {
  return isDigit(code) || code === 0x2b || code === MINUS || code === 0x2e || code === 0x45 || code === 0x65;
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

/** What a literal such as 9007199254740993, 12.50e1 or 1.0 stands for; undefined if it is not a number of JSON. */
function exactNumber(literal: string): bigint | number | undefined {
  const parts = NUMBER.exec(literal);
  if (parts === null) return undefined;
  const [, sign, whole, fraction = '', exponentText = '0'] = parts;
  const digits = `${whole}${fraction}`;
  const first = firstOtherThanZero(digits);
  if (first === digits.length) return 0n;
  const last = lastOtherThanZero(digits);
  // Zeros behind the digits from first to last; where negative, the digits of a fraction.
  const zeros = Number(exponentText) + (whole!.length - 1 - last);
  if (zeros < 0) {
    const fractional = Number(literal);
    return Number.isInteger(fractional) ? Number.NaN : fractional;
  }
  const length = last - first + 1;
  if (length + zeros > MAX_INTEGER_DIGITS) return Number.NaN;
  return plainWhereExact(BigInt(`${sign}${digits.slice(first, last + 1)}${'0'.repeat(zeros)}`));
}

function firstOtherThanZero(digits: string): number {
  let index = 0;
  while (digits.charCodeAt(index) === 0x30) index++;
  return index;
}

function lastOtherThanZero(digits: string): number {
  let index = digits.length - 1;
  while (digits.charCodeAt(index) === 0x30) index--;
  return index;
}

function plainWhereExact(value: bigint): bigint | number {
  return isExactNumber(value) ? Number(value) : value;
}

function isExactNumber(value: bigint): boolean {
  return value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER;
}
