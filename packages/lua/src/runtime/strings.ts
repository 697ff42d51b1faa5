import { numberToString } from '../values/numbers.js';
import { raiseType } from '../values/raise.js';
import { running, STRING_BYTES } from '../values/running.js';
import type { Value } from '../values/value.js';
import { callHandler } from './calls.js';
import { metamethod } from './metatables.js';

/** `left .. right` */
export function concat(left: Value, right: Value): Value {
  if (typeof left === 'string' && typeof right === 'string') return join(left, right);
  return concatAll([left, right]);
}

function join(left: string, right: string): string {
  running.spend(left.length + right.length + STRING_BYTES);
  return left + right;
}

/** `a .. b .. c`, from the right, as luaV_concat does it. */
export function concatAll(values: readonly Value[]): Value {
  let right = values[values.length - 1];
  for (let place = values.length - 2; place >= 0; place--) {
    const left = values[place];
    const leftText = asText(left);
    const rightText = asText(right);
    if (leftText !== undefined && rightText !== undefined) {
      right = join(leftText, rightText);
      continue;
    }
    const handler = metamethod(left, '__concat') ?? metamethod(right, '__concat');
    if (handler !== undefined) right = callHandler(handler, left, right);
    else if (leftText === undefined) raiseType('concatenate', left, place);
    else raiseType('concatenate', right, place + 1);
  }
  return right;
}

function asText(value: Value): string | undefined {
  if (typeof value === 'string') return value;
  return typeof value === 'number' ? numberToString(value) : undefined;
}

/** `#value` */
export function lengthOf(value: Value): Value {
  if (typeof value === 'string') return value.length;
  if (typeof value === 'object') return value.length;
  return raiseType('get length of', value, 0);
}
