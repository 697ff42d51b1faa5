import { toNumber } from '../runtime/arithmetic.js';
import { callFunction, indexFromLibrary, protect, throwError } from '../runtime/calls.js';
import { isTrue } from '../runtime/comparison.js';
import { next, nextOfArray } from '../runtime/loops.js';
import { metatableOf } from '../runtime/metatables.js';
import { beforeZero } from '../values/c-string.js';
import { raise, raiseArgument, raisePlainly } from '../values/raise.js';
import { READONLY } from '../values/table.js';
import { first, type LuaFunction, NONE, pack, prepend, typeName, type Value, Values } from '../values/value.js';
import { anyArgument, intArgument, optionalInt, stringArgument, tableArgument } from './arguments.js';
import { stringOf } from './to-string.js';

/** Results of one call; Lua's own stack ends there. */
const RESULTS_MAX = 7996;

/** The functions of lbaselib.c that Redis leaves to scripts, but for those that load code. */
export const base: Record<string, LuaFunction> = {
  assert(...list) {
    if (isTrue(anyArgument(list, 1))) return pack(list);
    if (list.length < 2 || list[1] === undefined) return raise('assertion failed!');
    return raise(beforeZero(stringArgument(list, 2)));
  },
  collectgarbage(...list) {
    const option = list[0] === undefined ? 'collect' : stringArgument(list, 1);
    if (!GARBAGE_OPTIONS.has(option)) return raiseArgument(1, `invalid option '${beforeZero(option)}'`);
    if (option === 'count') return HEAP_KILOBYTES;
    if (option === 'step') return false;
    return option.startsWith('set') ? 200 : 0;
  },
  error(value, level) {
    return throwError(value, level === undefined ? 1 : intArgument([value, level], 2));
  },
  gcinfo: () => HEAP_KILOBYTES,
  getmetatable(...list) {
    const metatable = metatableOf(anyArgument(list, 1));
    return metatable?.get('__metatable') ?? metatable;
  },
  ipairs: (...list) => new Values([nextOfArray, tableArgument(list, 1), 0]),
  next,
  pairs: (...list) => new Values([next, tableArgument(list, 1), undefined]),
  pcall(...list) {
    // Redis's pcall without arguments calls the `true` that it has put in front of the results.
    const outcome = protect(() => callFunction(list.length === 0 ? true : list[0], ...list.slice(1)));
    return 'error' in outcome ? failureOf(outcome.error.value) : prepend(true, outcome.result);
  },
  rawequal(...list) {
    anyArgument(list, 1);
    anyArgument(list, 2);
    return list[0] === list[1];
  },
  rawget(...list) {
    const table = tableArgument(list, 1);
    return table.get(anyArgument(list, 2));
  },
  rawset(...list) {
    const table = tableArgument(list, 1);
    const key = anyArgument(list, 2);
    anyArgument(list, 3);
    if (table.readonly) raisePlainly(READONLY);
    if (key === undefined) raisePlainly('table index is nil');
    if (Number.isNaN(key)) raisePlainly('table index is NaN');
    table.set(key, list[2]);
    return table;
  },
  select(...list) {
    if (list[0] === '#') return list.length - 1;
    let place = intArgument(list, 1);
    if (place < 0) place = list.length + place;
    else if (place > list.length) place = list.length;
    if (place < 1) return raiseArgument(1, 'index out of range');
    return pack(list.slice(place));
  },
  setmetatable(...list) {
    const table = tableArgument(list, 1);
    const metatable = list[1];
    if (list.length < 2 || (metatable !== undefined && typeof metatable !== 'object')) {
      return raiseArgument(2, 'nil or table expected');
    }
    if (table.metatable?.get('__metatable') !== undefined) return raise('cannot change a protected metatable');
    if (table.readonly) return raisePlainly(READONLY);
    table.metatable = metatable;
    return table;
  },
  tonumber,
  tostring: (...list) => stringOf(anyArgument(list, 1)),
  type: (...list) => typeName(anyArgument(list, 1)),
  unpack(...list) {
    const table = tableArgument(list, 1);
    const from = optionalInt(list, 2, 1);
    const to = list[2] === undefined ? table.length : intArgument(list, 3);
    if (from > to) return NONE;
    if (to - from + 1 > RESULTS_MAX) return raise('too many results to unpack');
    return pack(Array.from({ length: to - from + 1 }, (_, place) => table.get(from + place)));
  },
  xpcall(...list) {
    if (list.length < 2) return raiseArgument(2, 'value expected');
    const outcome = protect(() => callFunction(list[0]));
    if ('result' in outcome) return prepend(true, outcome.result);
    return new Values([false, handled(list[1], outcome.error.value)]);
  },
};

/** Redis's own pcall: of an error of redis.call it gives the text; behind another table it leaves what `err` was. */
function failureOf(error: Value): Values {
  if (typeof error !== 'object') return new Values([false, error]);
  const text = indexFromLibrary(error, 'err');
  return new Values(typeof text === 'string' || typeof text === 'number' ? [false, text] : [false, error, text]);
}

/** An error in the handler of an error is handled by it too, until Lua gives up. */
function handled(handler: Value, error: Value): Value {
  if (typeof handler !== 'function') return 'error in error handling';
  let value = error;
  for (let attempt = 0; attempt < HANDLER_ATTEMPTS; attempt++) {
    const outcome = protect(() => callFunction(handler, value));
    if ('result' in outcome) return first(outcome.result);
    value = outcome.error.value;
  }
  return 'error in error handling';
}

const HANDLER_ATTEMPTS = 190;
/** Scripts get no look at the memory of the process. */
const HEAP_KILOBYTES = 40;
const GARBAGE_OPTIONS = new Set(['stop', 'restart', 'collect', 'count', 'step', 'setpause', 'setstepmul']);

function tonumber(...list: Value[]): Value {
  if (list.length === 1) return toNumber(list[0]);
  const baseOfDigits = optionalInt(list, 2, 10);
  if (baseOfDigits === 10) return toNumber(anyArgument(list, 1));
  const text = stringArgument(list, 1);
  if (baseOfDigits < 2 || baseOfDigits > 36) return raiseArgument(2, 'base out of range');
  const match = /^[ \t\n\v\f\r]*([+-]?)([\da-zA-Z]+)[ \t\n\v\f\r]*$/.exec(beforeZero(text));
  if (match === null) return undefined;
  const digits = match[2]!;
  const hasPrefix = baseOfDigits === 16 && /^0[xX][\da-fA-F]/.test(digits);
  let value = 0n;
  for (const digit of hasPrefix ? digits.slice(2) : digits) {
    const place = Number.parseInt(digit, 36);
    if (place >= baseOfDigits) return undefined;
    value = value * BigInt(baseOfDigits) + BigInt(place);
    if (value >= 2n ** 64n) return 2 ** 64;
  }
  return Number(match[1] === '-' ? BigInt.asUintN(64, -value) : value);
}
