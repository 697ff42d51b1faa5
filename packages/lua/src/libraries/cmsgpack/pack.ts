import { raiseArgument } from '../../values/raise.js';
import type { Table } from '../../values/table.js';
import type { Value } from '../../values/value.js';
import { INT_MAX } from '../integers.js';
import { charge } from '../memory.js';

/** `cmsgpack.pack`: each argument as MessagePack, one behind the other. */

/** A table nested deeper is written as nil, which also ends a table that contains itself. */
const MAX_NESTING = 16;

const TWO_63 = 2 ** 63;
/** The NaN that the processor makes of 0/0. */
const NAN_BYTES = '\xcb\xff\xf8\0\0\0\0\0\0';
const NIL_BYTE = '\xc0';

const bytes = new DataView(new ArrayBuffer(8));

export function pack(...values: Value[]): string {
  if (values.length === 0) raiseArgument(0, 'MessagePack pack needs input.');
  let packed = '';
  for (const value of values) packed += packValue(value, 0);
  return packed;
}

function packValue(value: Value, level: number): string {
  switch (typeof value) {
    case 'string':
      charge(value.length + 5);
      return lengthBytes(value.length, 0xa0, 31, 0xd9) + value;
    case 'number':
      charge(9);
      return packNumber(value);
    case 'boolean':
      charge(1);
      return value ? '\xc3' : '\xc2';
    case 'object':
      charge(5);
      return level === MAX_NESTING ? NIL_BYTE : packTable(value, level);
    default:
      charge(1);
      return NIL_BYTE;
  }
}

function packTable(table: Table, level: number): string {
  const length = sequenceLength(table);
  let packed = '';
  if (length !== undefined) {
    for (let key = 1; key <= length; key++) packed += packValue(table.get(key), level + 1);
    return lengthBytes(length, 0x90, 15, 0xdb) + packed;
  }
  let count = 0;
  const { array, hash } = table;
  for (let slot = 0; slot < array.length; slot++) {
    if (array[slot] === undefined) continue;
    count++;
    packed += packValue(slot + 1, level + 1) + packValue(array[slot], level + 1);
  }
  for (const [key, value] of hash) {
    if (value === undefined) continue;
    count++;
    packed += packValue(key, level + 1) + packValue(value, level + 1);
  }
  return lengthBytes(count, 0x80, 15, 0xdd) + packed;
}

/** How many values a table has if their keys are 1, 2, 3 and so on without a hole; else undefined. */
function sequenceLength(table: Table): number | undefined {
  const { array, hash } = table;
  let count = 0;
  let largest = 0;
  for (let slot = 0; slot < array.length; slot++) {
    if (array[slot] === undefined) continue;
    count++;
    largest = slot + 1;
  }
  for (const [key, value] of hash) {
    if (value === undefined) continue;
    if (typeof key !== 'number' || key <= 0 || key > INT_MAX || !Number.isInteger(key)) return undefined;
    count++;
    if (key > largest) largest = key;
  }
  return largest === count ? count : undefined;
}

/**
 * The header of a string, an array or a map: a small length in the byte `fixed`; else the type and the length in 1, 2
 * or 4 bytes, where arrays and maps have no type for 1.
 */
function lengthBytes(length: number, fixed: number, fixedMost: number, type8: number): string {
  if (length <= fixedMost) return String.fromCharCode(fixed | length);
  if (length <= 0xff && type8 === 0xd9) return String.fromCharCode(type8, length);
  if (length <= 0xffff) return String.fromCharCode(type8 + 1) + bigEndian(length, 2);
  return String.fromCharCode(type8 + 2) + bigEndian(length, 4);
}

function bigEndian(value: number, size: number): string {
  bytes.setUint32(4, value);
  return bytesFrom(8 - size);
}

function bytesFrom(start: number): string {
  let text = '';
  for (let i = start; i < 8; i++) text += String.fromCharCode(bytes.getUint8(i));
  return text;
}

function packNumber(value: number): string {
  if (Number.isInteger(value) && value >= -TWO_63 && value < TWO_63) return packInteger(value);
  if (Number.isNaN(value)) return NAN_BYTES;
  if (Math.fround(value) === value) {
    bytes.setFloat32(4, value);
    return `\xca${bytesFrom(4)}`;
  }
  bytes.setFloat64(0, value);
  return `\xcb${bytesFrom(0)}`;
}

function packInteger(value: number): string {
  if (value >= 0) {
    if (value <= 0x7f) return String.fromCharCode(value);
    if (value <= 0xff) return `\xcc${String.fromCharCode(value)}`;
    if (value <= 0xffff) return `\xcd${bigEndian(value, 2)}`;
    if (value <= 0xffffffff) return `\xce${bigEndian(value, 4)}`;
    bytes.setBigInt64(0, BigInt(value));
    return `\xcf${bytesFrom(0)}`;
  }
  if (value >= -32) return String.fromCharCode(value & 0xff);
  if (value >= -0x80) return `\xd0${String.fromCharCode(value & 0xff)}`;
  if (value >= -0x8000) return `\xd1${bigEndian(value, 2)}`;
  if (value >= -0x80000000) return `\xd2${bigEndian(value, 4)}`;
  bytes.setBigInt64(0, BigInt(value));
  return `\xd3${bytesFrom(0)}`;
}
