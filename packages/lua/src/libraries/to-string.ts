import { callFunction } from '../runtime/calls.js';
import { metamethod } from '../runtime/metatables.js';
import { numberToString } from '../values/numbers.js';
import type { Table } from '../values/table.js';
import { first, type LuaFunction, typeName, type Value } from '../values/value.js';

const addresses = new WeakMap<Table | LuaFunction, string>();
/** Where the first object would be in memory: numbers that look like Redis's, and are no addresses. */
let nextAddress = 0x7f0000000000;
const OBJECT_BYTES = 64;

/** `tostring(value)` */
export function stringOf(value: Value): Value {
  const handler = metamethod(value, '__tostring');
  if (handler !== undefined) return first(callFunction(handler, value));
  return plainString(value);
}

/** Without metamethods. */
export function plainString(value: Value): string {
  switch (typeof value) {
    case 'undefined':
      return 'nil';
    case 'boolean':
      return value ? 'true' : 'false';
    case 'number':
      return numberToString(value);
    case 'string':
      return value;
    case 'symbol':
      return 'userdata: (nil)';
    default:
      return `${typeName(value)}: ${addressOf(value)}`;
  }
}

function addressOf(value: Table | LuaFunction): string {
  let address = addresses.get(value);
  if (address === undefined) {
    address = `0x${nextAddress.toString(16)}`;
    nextAddress += OBJECT_BYTES;
    addresses.set(value, address);
  }
  return address;
}
