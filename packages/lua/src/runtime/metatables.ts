import { nest } from '../values/nesting.js';
import { raise, raiseType } from '../values/raise.js';
import { running } from '../values/running.js';
import { READONLY, type Table } from '../values/table.js';
import { first, type LuaFunction, type Value } from '../values/value.js';

/** Tables that stand behind tables by `__index` and `__newindex`. */
const LOOKUPS_MAX = 100;
/** What a metatable gave has no name. */
const NO_OPERAND = -1;

export function metatableOf(value: Value): Table | undefined {
  if (typeof value === 'object') return value.metatable;
  return typeof value === 'string' ? running.strings : undefined;
}

export function metamethod(value: Value, event: string): Value {
  return metatableOf(value)?.hash.get(event);
}

/** `object[key]` */
export function index(object: Value, key: Value): Value {
  let current = object;
  for (let lookups = 0; lookups < LOOKUPS_MAX; lookups++) {
    let handler: Value;
    if (typeof current === 'object') {
      const value = current.get(key);
      if (value !== undefined || current.metatable === undefined) return value;
      handler = current.metatable.hash.get('__index');
      if (handler === undefined) return undefined;
    } else {
      handler = metamethod(current, '__index');
      if (handler === undefined) return raiseType('index', current, lookups === 0 ? 0 : NO_OPERAND);
    }
    if (typeof handler === 'function') return callIndexHandler(handler, current, key);
    current = handler;
  }
  return raise('loop in gettable');
}

function callIndexHandler(handler: LuaFunction, object: Value, key: Value): Value {
  nest();
  const value = first(handler(object, key));
  running.nested--;
  return value;
}

/** `object[key] = value` */
export function setIndex(object: Value, key: Value, value: Value): void {
  let current = object;
  for (let lookups = 0; lookups < LOOKUPS_MAX; lookups++) {
    let handler: Value;
    if (typeof current === 'object') {
      if (current.readonly) raise(READONLY);
      // As in Lua 5.1: before __newindex is looked for.
      checkKey(key);
      const { metatable } = current;
      handler =
        metatable === undefined || current.get(key) !== undefined ? undefined : metatable.hash.get('__newindex');
      if (handler === undefined) {
        current.set(key, value);
        return;
      }
    } else {
      handler = metamethod(current, '__newindex');
      if (handler === undefined) raiseType('index', current, lookups === 0 ? 0 : NO_OPERAND);
    }
    if (typeof handler === 'function') {
      nest();
      handler(current, key, value);
      running.nested--;
      return;
    }
    current = handler;
  }
  raise('loop in settable');
}

function checkKey(key: Value): void {
  if (key === undefined) raise('table index is nil');
  if (typeof key === 'number' && Number.isNaN(key)) raise('table index is NaN');
}
