import { LuaError } from '../values/errors.js';
import { nest, nestFromLibrary } from '../values/nesting.js';
import { numberToString } from '../values/numbers.js';
import { raise, raisePlainly, raiseType } from '../values/raise.js';
import { CALL_SLOTS, running } from '../values/running.js';
import { position } from '../values/sites.js';
import { first, type LuaFunction, typeName, type Value, type Values } from '../values/value.js';
import { index, metamethod } from './metatables.js';

/** Arguments beyond these are counted against the stack. */
const ARGUMENTS_NOT_COUNTED = 32;

/**
 * The function behind a call of `value`, which is no function. Lua evaluates arguments first, so a mistake shows in the
 * call.
 */
export function callable(value: Value): LuaFunction {
  const handler = metamethod(value, '__call');
  if (typeof handler === 'function') return (...list) => handler(value, ...list);
  return () => raiseType('call', value, 0);
}

/** Slots of the stack for an operation that calls a handler, and the functions between. */
const HANDLER_SLOTS = CALL_SLOTS * 4;

/** Calls a handler of a metatable, which Lua has no name for. */
export function callHandler(handler: Value, left: Value, right: Value): Value {
  const target = typeof handler === 'function' ? handler : metamethod(handler, '__call');
  if (typeof target !== 'function') return raise(`attempt to call a ${typeName(handler)} value`);
  running.slots -= HANDLER_SLOTS;
  if (running.slots < 0) overflow();
  nest();
  const result = first(target === handler ? target(left, right) : target(handler, left, right));
  running.nested--;
  running.slots += HANDLER_SLOTS;
  return result;
}

/** A call with a list of arguments whose length is not known before. */
export function apply(callee: Value, list: readonly Value[]): Value | Values {
  const target = typeof callee === 'function' ? callee : callable(callee);
  if (list.length <= ARGUMENTS_NOT_COUNTED) return target(...list);
  running.slots -= list.length;
  if (running.slots < 0) overflow();
  const result = target(...list);
  running.slots += list.length;
  return result;
}

/**
 * How a library calls a function of the script. Its name is in the stack where Lua has the library's frame, and is
 * looked for there (`BOUNDARY`).
 */
function callFromLibrary(target: LuaFunction, list: readonly Value[]): Value | Values {
  return target(...list);
}

export function callFunction(callee: Value, ...list: Value[]): Value | Values {
  let target: LuaFunction;
  if (typeof callee === 'function') target = callee;
  else {
    const handler = metamethod(callee, '__call');
    if (typeof handler !== 'function') return raisePlainly(`attempt to call a ${typeName(callee)} value`);
    target = (...given) => handler(callee, ...given);
  }
  const slots = CALL_SLOTS * 2 + list.length;
  running.slots -= slots;
  if (running.slots < 0) overflow();
  nestFromLibrary();
  const result = callFromLibrary(target, list);
  running.nested--;
  running.slots += slots;
  return result;
}

/** `object[key]` in a library: errors have no position. */
export function indexFromLibrary(object: Value, key: Value): Value {
  if (typeof object === 'object' && object.metatable === undefined) return object.get(key);
  return first(callFromLibrary(index as LuaFunction, [object, key]));
}

export function overflow(): never {
  return raise('stack overflow');
}

/** Calls, and returns a Lua error as a value. Any other error ends the script. */
export function protect(call: () => Value | Values): { result: Value | Values } | { error: LuaError } {
  const { slots, nested } = running;
  try {
    return { result: call() };
  } catch (error) {
    if (!(error instanceof LuaError)) throw error;
    running.slots = slots;
    running.nested = nested;
    return { error };
  }
}

/** `error(value, level)`. */
export function throwError(value: Value, level: number): never {
  const place = position(Math.max(1, level));
  if (level <= 0 || (typeof value !== 'string' && typeof value !== 'number')) throw new LuaError(value, place);
  throw new LuaError(place.prefix + (typeof value === 'number' ? numberToString(value) : value), place);
}
