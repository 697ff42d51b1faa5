import { callFunction } from '../../runtime/calls.js';
import { index } from '../../runtime/metatables.js';
import { numberToString } from '../../values/numbers.js';
import { raise, raiseArgument } from '../../values/raise.js';
import { CLOSURE_BYTES, running } from '../../values/running.js';
import { first, type LuaFunction, NONE, typeName, type Value, Values } from '../../values/value.js';
import { checkInt, checkOptionalInteger, checkString } from '../checks.js';
import { charge, charged, stringMade } from '../memory.js';
import { isDigit } from './character-classes.js';
import { Matcher, NO_MATCH } from './matcher.js';
import { plainSearch } from './plain-search.js';
import { fromEnd } from './positions.js';

/** `string.find`, `match`, `gmatch` and `gsub`. */

const CARET = 0x5e;
const DIGIT_ZERO = 0x30;
const SPECIAL = new Set(Array.from('^$*+?.([%-', (letter) => letter.charCodeAt(0)));

/** For searches that call nothing of the script while they match. */
const shared = new Matcher();
/** For gsub, whose replacement can be a function that calls gsub. */
const idle: Matcher[] = [];

export function find(subject: Value, pattern: Value, start: Value, plain: Value): Value | Values {
  const text = checkString(subject, 1, arguments.length);
  const sought = checkString(pattern, 2, arguments.length);
  const from = searchStart(start, text.length);
  if ((plain !== undefined && plain !== false) || !hasSpecials(sought)) {
    const at = plainSearch(text, sought, from);
    return at < 0 ? undefined : new Values([at + 1, at + sought.length]);
  }
  const at = firstMatch(text, sought, from);
  if (at < 0) return undefined;
  const results: Value[] = [at + 1, shared.end];
  for (let i = 0; i < shared.captureCount; i++) results.push(captured(shared, i));
  return new Values(results);
}

export function match(subject: Value, pattern: Value, start: Value): Value | Values {
  const text = checkString(subject, 1, arguments.length);
  const sought = checkString(pattern, 2, arguments.length);
  if (firstMatch(text, sought, searchStart(start, text.length)) < 0) return undefined;
  return captures(shared);
}

export function gmatch(subject: Value, pattern: Value): LuaFunction {
  const text = checkString(subject, 1, arguments.length);
  const sought = checkString(pattern, 2, arguments.length);
  let from = 0;
  running.bytes -= CLOSURE_BYTES;
  return () => {
    shared.begin(text, sought);
    // A caret is no anchor here: it would end the loop at its second turn.
    for (; from <= text.length; from++) {
      const end = shared.matchAt(from, 0);
      if (end === NO_MATCH) continue;
      from = end === from ? end + 1 : end;
      return captures(shared);
    }
    return NONE;
  };
}

export function gsub(subject: Value, pattern: Value, replacement: Value, limit: Value): Values {
  const text = checkString(subject, 1, arguments.length);
  const sought = checkString(pattern, 2, arguments.length);
  const most = limit === undefined ? text.length + 1 : checkInt(limit, 4, arguments.length);
  const replace = replacer(replacement);
  const isAnchored = sought.charCodeAt(0) === CARET;
  const matcher = idle.pop() ?? new Matcher();
  matcher.begin(text, sought);
  let result = '';
  let copied = 0;
  let at = 0;
  let count = 0;
  while (count < most) {
    const end = matcher.matchAt(at, isAnchored ? 1 : 0);
    if (end !== NO_MATCH) {
      count++;
      charge(at - copied);
      result += text.slice(copied, at) + replace(matcher);
      copied = end;
    }
    if (end !== NO_MATCH && end > at) at = end;
    else if (at < text.length) at++;
    else break;
    if (isAnchored) break;
  }
  idle.push(matcher);
  charge(text.length - copied);
  return new Values([result + text.slice(copied), count]);
}

/** Where the first match begins, or -1; `shared` has its end and captures. */
function firstMatch(text: string, pattern: string, start: number): number {
  const isAnchored = pattern.charCodeAt(0) === CARET;
  shared.begin(text, pattern);
  for (let at = start; at <= text.length; at++) {
    if (shared.matchAt(at, isAnchored ? 1 : 0) !== NO_MATCH) return at;
    if (isAnchored) break;
  }
  return -1;
}

function searchStart(start: Value, length: number): number {
  const from = fromEnd(checkOptionalInteger(start, 1, 3), length) - 1;
  return Math.min(Math.max(from, 0), length);
}

/** Lua looks no further than the first zero byte. */
function hasSpecials(pattern: string): boolean {
  for (let i = 0; i < pattern.length; i++) {
    const byte = pattern.charCodeAt(i);
    if (byte === 0) return false;
    if (SPECIAL.has(byte)) return true;
  }
  return false;
}

function captured(matcher: Matcher, position: number): string | number {
  const value = matcher.capture(position);
  return typeof value === 'string' ? stringMade(value) : value;
}

/** All captures or, without any, the whole match. */
function captures(matcher: Matcher): Value | Values {
  if (matcher.captureCount <= 1) return captured(matcher, 0);
  return new Values(captureList(matcher));
}

function captureList(matcher: Matcher): Value[] {
  const list: Value[] = [captured(matcher, 0)];
  for (let i = 1; i < matcher.captureCount; i++) list.push(captured(matcher, i));
  return list;
}

/** What puts a text in the place of a match. */
function replacer(replacement: Value): (matcher: Matcher) => string {
  switch (typeof replacement) {
    case 'number':
      return (matcher) => filledIn(numberToString(replacement), matcher);
    case 'string':
      if (!replacement.includes('%')) return () => charged(replacement);
      return (matcher) => filledIn(replacement, matcher);
    case 'function':
      return (matcher) => replacementText(first(callFunction(replacement, ...captureList(matcher))), matcher);
    case 'object':
      return (matcher) => replacementText(index(replacement, captured(matcher, 0)), matcher);
    default:
      return raiseArgument(3, 'string/function/table expected');
  }
}

/** What a function or a table gave: nil and false leave the match as it is. */
function replacementText(value: Value, matcher: Matcher): string {
  if (typeof value === 'string') return charged(value);
  if (typeof value === 'number') return charged(numberToString(value));
  if (value === undefined || value === false) return charged(matcher.whole);
  return raise(`invalid replacement value (a ${typeName(value)})`);
}

/** A replacement with %0 to %9 replaced; behind another percent sign a byte stands for itself. */
function filledIn(template: string, matcher: Matcher): string {
  let text = '';
  let start = 0;
  for (let at = template.indexOf('%'); at >= 0; at = template.indexOf('%', start)) {
    text += charged(template.slice(start, at));
    start = at + 2;
    // The zero byte at the end of C's strings stands for itself too.
    const byte = at + 1 < template.length ? template.charCodeAt(at + 1) : 0;
    if (!isDigit(byte)) text += charged(String.fromCharCode(byte));
    else if (byte === DIGIT_ZERO) text += charged(matcher.whole);
    else {
      const value = matcher.capture(byte - DIGIT_ZERO - 1);
      text += charged(typeof value === 'string' ? value : numberToString(value));
    }
  }
  return text + charged(template.slice(start));
}
