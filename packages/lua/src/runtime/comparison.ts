import { raise } from '../values/raise.js';
import type { Table } from '../values/table.js';
import { typeName, type Value } from '../values/value.js';
import { callHandler } from './calls.js';
import { metamethod } from './metatables.js';

export function isTrue(value: Value): boolean {
  return value !== undefined && value !== false;
}

export function equal(left: Value, right: Value): boolean {
  if (left === right) return true;
  return typeof left === 'object' && typeof right === 'object' && equalTables(left, right);
}

function equalTables(left: Table, right: Table): boolean {
  const handler = sharedHandler(left, right, '__eq');
  return handler !== undefined && isTrue(callHandler(handler, left, right));
}

/** Lua 5.1 compares by a metamethod only if both operands have the same one. */
function sharedHandler(left: Value, right: Value, event: string): Value {
  const handler = metamethod(left, event);
  if (handler === undefined) return undefined;
  const other = metamethod(right, event);
  return handler === other || (other !== undefined && equal(handler, other)) ? handler : undefined;
}

export function lessThan(left: Value, right: Value): boolean {
  if (typeof left === 'number' && typeof right === 'number') return left < right;
  if (typeof left === 'string' && typeof right === 'string') return left < right;
  if (typeName(left) === typeName(right)) {
    const handler = sharedHandler(left, right, '__lt');
    if (handler !== undefined) return isTrue(callHandler(handler, left, right));
  }
  return raiseOrder(left, right);
}

export function lessOrEqual(left: Value, right: Value): boolean {
  if (typeof left === 'number' && typeof right === 'number') return left <= right;
  if (typeof left === 'string' && typeof right === 'string') return left <= right;
  if (typeName(left) === typeName(right)) {
    const handler = sharedHandler(left, right, '__le');
    if (handler !== undefined) return isTrue(callHandler(handler, left, right));
    const reverse = sharedHandler(right, left, '__lt');
    if (reverse !== undefined) return !isTrue(callHandler(reverse, right, left));
  }
  return raiseOrder(left, right);
}

function raiseOrder(left: Value, right: Value): never {
  const [leftType, rightType] = [typeName(left), typeName(right)];
  if (leftType === rightType) return raise(`attempt to compare two ${leftType} values`);
  return raise(`attempt to compare ${leftType} with ${rightType}`);
}
