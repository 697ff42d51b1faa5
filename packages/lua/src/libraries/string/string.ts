import { raise, raiseArgument } from '../../values/raise.js';
import { running, STRING_BYTES } from '../../values/running.js';
import { pack, type Value, type Values } from '../../values/value.js';
import { checkInt, checkInteger, checkOptionalInteger, checkString } from '../checks.js';
import { type Library, MAX_STACK_SLOTS } from '../library.js';
import { replaceBytes, stringMade } from '../memory.js';
import { format } from './format.js';
import { fromEnd } from './positions.js';
import { find, gmatch, gsub, match } from './search.js';

/** The library `string` of Lua 5.1. */

function len(text: Value): number {
  return checkString(text, 1, arguments.length).length;
}

function sub(text: Value, start: Value, end: Value): string {
  const whole = checkString(text, 1, arguments.length);
  const from = fromEnd(checkInteger(start, 2, arguments.length), whole.length);
  const to = fromEnd(checkOptionalInteger(end, -1, 3), whole.length);
  if (from > to) return '';
  return stringMade(whole.slice(from < 1 ? 0 : from - 1, to));
}

/** There is no byte code: every function is refused as Lua refuses those of libraries. */
function dump(): never {
  return raise('unable to dump given function');
}

function reverse(text: Value): string {
  const whole = stringMade(checkString(text, 1, arguments.length));
  return Buffer.from(whole, 'latin1').reverse().toString('latin1');
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII
const ASCII = /^[\x00-\x7f]*$/;

/** Only letters of ASCII have a case in the C locale. */
function lower(text: Value): string {
  const whole = stringMade(checkString(text, 1, arguments.length));
  if (ASCII.test(whole)) return whole.toLowerCase();
  return replaceBytes(whole, /[A-Z]/g, (letter) => letter.toLowerCase());
}

function upper(text: Value): string {
  const whole = stringMade(checkString(text, 1, arguments.length));
  if (ASCII.test(whole)) return whole.toUpperCase();
  return replaceBytes(whole, /[a-z]/g, (letter) => letter.toUpperCase());
}

function rep(text: Value, count: Value): string {
  const whole = checkString(text, 1, arguments.length);
  const times = checkInt(count, 2, arguments.length);
  if (times <= 0) return '';
  running.spend(STRING_BYTES + whole.length * times);
  return whole.repeat(times);
}

function byte(text: Value, start: Value, end: Value): Value | Values {
  const whole = checkString(text, 1, arguments.length);
  const first = fromEnd(checkOptionalInteger(start, 1, 2), whole.length);
  const last = Math.min(fromEnd(checkOptionalInteger(end, first, 3), whole.length), whole.length);
  const from = first < 1 ? 1 : first;
  if (from === last) return whole.charCodeAt(from - 1);
  if (arguments.length + last - from + 1 > MAX_STACK_SLOTS) raise('stack overflow (string slice too long)');
  const bytes: Value[] = [];
  for (let at = from; at <= last; at++) bytes.push(whole.charCodeAt(at - 1));
  return pack(bytes);
}

function char(...bytes: Value[]): string {
  let text = '';
  for (let i = 0; i < bytes.length; i++) {
    const value = checkInt(bytes[i], i + 1);
    if (value < 0 || value > 0xff) raiseArgument(i + 1, 'invalid value');
    text += String.fromCharCode(value);
  }
  return stringMade(text);
}

export const string: Library = {
  byte,
  char,
  find,
  format,
  dump,
  gfind: gmatch,
  gmatch,
  gsub,
  len,
  lower,
  match,
  rep,
  reverse,
  sub,
  upper,
};
