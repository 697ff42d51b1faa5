import { toNumber } from '../runtime/arithmetic.js';
import { numberToString } from '../values/numbers.js';
import { raiseArgumentType } from '../values/raise.js';
import type { Value } from '../values/value.js';
import { toInt, toLong } from './integers.js';

/**
 * Arguments of library functions, converted and refused as lauxlib.c does. `given` is the number of arguments of the
 * call: messages distinguish a nil from an argument that is missing. A function with few arguments names them, and
 * needs no list.
 */

export function checkString(value: Value, position: number, given = position): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return numberToString(value);
  return raiseArgumentType(position, 'string', value, given);
}

export function checkNumber(value: Value, position: number, given = position): number {
  if (typeof value === 'number') return value;
  const number = toNumber(value);
  return number === undefined ? raiseArgumentType(position, 'number', value, given) : number;
}

/** A number cut to C's `long`. */
export function checkInteger(value: Value, position: number, given = position): number {
  return toLong(checkNumber(value, position, given));
}

/** A number cut to C's `int`. */
export function checkInt(value: Value, position: number, given = position): number {
  return toInt(checkNumber(value, position, given));
}

/** As checkInteger(), with a value for an argument that is nil or missing. */
export function checkOptionalInteger(value: Value, otherwise: number, position: number): number {
  return value === undefined ? otherwise : checkInteger(value, position);
}
