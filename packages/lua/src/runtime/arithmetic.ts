import { modulo, power } from '../values/arithmetic.js';
import { stringToNumber } from '../values/numbers.js';
import { raiseType } from '../values/raise.js';
import { running } from '../values/running.js';
import type { Value } from '../values/value.js';
import { callHandler } from './calls.js';
import { metamethod } from './metatables.js';

/** A string that is read as a number: bytes in about the time of one turn of a loop. */
const READ_BYTES_PER_TURN = 64;

export function toNumber(value: Value): number | undefined {
  if (typeof value === 'number') return value;
  if (typeof value !== 'string') return undefined;
  if (value.length > READ_BYTES_PER_TURN) running.work(value.length / READ_BYTES_PER_TURN);
  return stringToNumber(value);
}

/** What generated code calls where an operand is no number: strings that are numbers, metamethods, errors. */
function operation(event: string, compute: (left: number, right: number) => number) {
  return (left: Value, right: Value): Value => {
    if (typeof left === 'number' && typeof right === 'number') return compute(left, right);
    const leftNumber = toNumber(left);
    const rightNumber = toNumber(right);
    if (leftNumber !== undefined && rightNumber !== undefined) return compute(leftNumber, rightNumber);
    const handler = metamethod(left, event) ?? metamethod(right, event);
    if (handler !== undefined) return callHandler(handler, left, right);
    return leftNumber === undefined ? wrongOperand(left, 0) : wrongOperand(right, 1);
  };
}

function wrongOperand(value: Value, operand: number): never {
  return raiseType('perform arithmetic on', value, operand);
}

export const add = operation('__add', (left, right) => left + right);
export const subtract = operation('__sub', (left, right) => left - right);
export const multiply = operation('__mul', (left, right) => left * right);
export const divide = operation('__div', (left, right) => left / right);
export const mod = operation('__mod', modulo);
export const pow = operation('__pow', power);
const negation = operation('__unm', (left) => -left);

export function negate(value: Value): Value {
  return typeof value === 'number' ? -value : negation(value, value);
}
