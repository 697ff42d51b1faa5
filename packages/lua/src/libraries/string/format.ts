import { beforeZero } from '../../values/c-string.js';
import { raise, raiseArgument } from '../../values/raise.js';
import type { Value } from '../../values/value.js';
import { checkNumber, checkString } from '../checks.js';
import { directlyToInt } from '../integers.js';
import { charged, replaceBytes } from '../memory.js';
import { isDigit } from './character-classes.js';
import { type Directive, printFloat, printInteger, printText } from './directive.js';

/** `string.format`: the directives that C's printf has, the way Lua 5.1 hands them on to it. */

const MAX_FLAGS = 5;
/** Longer strings without a precision are taken over as they are, even if the directive asks for a width. */
const LONG_STRING = 100;

const PERCENT = 0x25;
const LETTER_D = 0x64;
const LETTER_S = 0x73;
const DOT = 0x2e;

export function format(...list: Value[]): string {
  const text = checkString(list[0], 1, list.length);
  let percent = text.indexOf('%');
  if (percent < 0) return text;
  let directive: Directive | undefined;
  let result = '';
  let start = 0;
  let used = 1;
  for (; percent >= 0; percent = text.indexOf('%', start)) {
    if (percent > start) result += charged(text.slice(start, percent));
    start = percent + 1;
    const letter = text.charCodeAt(start);
    if (letter === PERCENT) {
      result += charged('%');
      start++;
      continue;
    }
    if (used === list.length) raiseArgument(used + 1, 'no value');
    const value = list[used++];
    // The two directives that most scripts use, as they stand.
    if (letter === LETTER_D && typeof value === 'number' && Number.isSafeInteger(value)) {
      result += charged(integerText(value));
      start++;
    } else if (
      letter === LETTER_S &&
      typeof value === 'string' &&
      (value.length >= LONG_STRING || !value.includes('\0'))
    ) {
      result += charged(value);
      start++;
    } else {
      directive ??= newDirective();
      start = readDirective(text, start, directive);
      result += charged(print(directive, value, used));
    }
  }
  return start < text.length ? result + charged(text.slice(start)) : result;
}

function newDirective(): Directive {
  return {
    leftAligned: false,
    plus: false,
    space: false,
    alternative: false,
    zeroPadded: false,
    width: 0,
    precision: -1,
    conversion: '',
  };
}

/** Reads what stands behind a percent sign; returns where the text goes on. */
function readDirective(text: string, start: number, into: Directive): number {
  into.leftAligned = into.plus = into.space = into.alternative = into.zeroPadded = false;
  into.width = 0;
  into.precision = -1;
  let at = start;
  while (readFlag(text.charAt(at), into)) at++;
  if (at - start > MAX_FLAGS) raise('invalid format (repeated flags)');
  // Two digits at most for each.
  for (const end = at + 2; at < end && isDigit(text.charCodeAt(at)); at++) {
    into.width = into.width * 10 + text.charCodeAt(at) - 0x30;
  }
  if (text.charCodeAt(at) === DOT) {
    at++;
    into.precision = 0;
    for (const end = at + 2; at < end && isDigit(text.charCodeAt(at)); at++) {
      into.precision = into.precision * 10 + text.charCodeAt(at) - 0x30;
    }
  }
  if (isDigit(text.charCodeAt(at))) raise('invalid format (width or precision too long)');
  into.conversion = text.charAt(at);
  return at + 1;
}

function readFlag(letter: string, into: Directive): boolean {
  switch (letter) {
    case '-':
      into.leftAligned = true;
      return true;
    case '+':
      into.plus = true;
      return true;
    case ' ':
      into.space = true;
      return true;
    case '#':
      into.alternative = true;
      return true;
    case '0':
      into.zeroPadded = true;
      return true;
    default:
      return false;
  }
}

function print(directive: Directive, value: Value, position: number): string {
  switch (directive.conversion) {
    case 'd':
    case 'i':
    case 'u':
    case 'o':
    case 'x':
    case 'X':
      return printInteger(directive, checkNumber(value, position));
    case 'e':
    case 'E':
    case 'f':
    case 'g':
    case 'G':
      return printFloat(directive, checkNumber(value, position));
    case 'c':
      return beforeZero(printText(directive, String.fromCharCode(directlyToInt(checkNumber(value, position)) & 0xff)));
    case 'q':
      return quoted(checkString(value, position));
    case 's':
      return printString(directive, checkString(value, position));
    default:
      return raise(`invalid option '%${beforeZero(directive.conversion)}' to 'format'`);
  }
}

/** Minus zero is cut to an integer that has no sign. */
function integerText(value: number): string {
  return value === 0 ? '0' : `${value}`;
}

function printString(directive: Directive, value: string): string {
  if (directive.precision < 0 && value.length >= LONG_STRING) return value;
  const text = beforeZero(value);
  return printText(directive, directive.precision < 0 ? text : text.slice(0, directive.precision));
}

/** `%q`: a string that Lua reads back. */
function quoted(text: string): string {
  return `"${replaceBytes(text, /["\\\n\r\0]/g, escaped)}"`;
}

function escaped(byte: string): string {
  if (byte === '\r') return '\\r';
  return byte === '\0' ? '\\000' : `\\${byte}`;
}
