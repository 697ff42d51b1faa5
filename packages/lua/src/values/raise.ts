import { LuaError } from './errors.js';
import { position } from './sites.js';
import { typeName, type Value } from './value.js';

/**
 * Throws a Lua error with this text behind the position of the running Lua function, as luaG_runerror and luaL_error.
 */
export function raise(text: string): never {
  const place = position(1);
  throw new LuaError(place.prefix + text, place);
}

/** The same without a position, as Lua's own functions do when a library calls them. */
export function raisePlainly(text: string): never {
  return raiseValue(text);
}

/** Throws a Lua error with this value as it is. */
export function raiseValue(value: Value): never {
  throw new LuaError(value, position(1));
}

/** "attempt to index local 'x' (a nil value)": an operand of the running operation is wrong. luaG_typeerror. */
export function raiseType(attempt: string, value: Value, operand: number): never {
  const place = position(1);
  const name = place.site?.operands[operand];
  const type = typeName(value);
  const what = name === undefined ? `a ${type} value` : `${name} (a ${type} value)`;
  throw new LuaError(`${place.prefix}attempt to ${attempt} ${what}`, place);
}

/** Throws what luaL_argerror throws: argument `number` of the running library function is wrong. */
export function raiseArgument(number: number, text: string): never {
  const place = position(1);
  const name = place.site?.called ?? '?';
  const isMethod = place.site?.kind === 'method';
  const counted = isMethod ? number - 1 : number;
  const what = isMethod && counted === 0 ? `calling '${name}' on bad self` : `bad argument #${counted} to '${name}'`;
  throw new LuaError(`${place.prefix}${what} (${text})`, place);
}

/** "number expected, got nil". `given` is how many arguments the function has: beyond them is "no value". */
export function raiseArgumentType(number: number, expected: string, value: Value, given = number): never {
  const got = number > given ? 'no value' : typeName(value);
  return raiseArgument(number, `${expected} expected, got ${got}`);
}
