import { stringToNumber } from '../../values/numbers.js';
import { raise, raiseArgument } from '../../values/raise.js';
import { running } from '../../values/running.js';
import { pack as packResults, type Value, type Values } from '../../values/value.js';
import { checkNumber, checkOptionalInteger, checkString } from '../checks.js';
import { toBigLong, toBigUnsignedLong } from '../integers.js';
import { type Library, MAX_STACK_SLOTS } from '../library.js';
import { Layout } from './layout.js';

/** The library `struct` as Redis ships it: values packed as C's structures, by a format. */

const bytes = new DataView(new ArrayBuffer(8));

function pack(format: Value, ...values: Value[]): string {
  const layout = new Layout(checkString(format, 1, arguments.length));
  let result = '';
  let used = 0;
  while (layout.next()) {
    const padding = layout.paddingAt(result.length);
    if (padding > 0) result += '\0'.repeat(padding);
    // Lua's own mark behind the arguments is a nil, so that a missing one is called nil.
    const position = used + 2;
    switch (layout.option) {
      case 'b':
      case 'B':
      case 'h':
      case 'H':
      case 'l':
      case 'L':
      case 'T':
      case 'i':
      case 'I':
        result += integerBytes(checkNumber(values[used++], position), layout.size, layout.littleEndian);
        break;
      case 'x':
        result += '\0';
        break;
      case 'f':
        result += floatBytes(checkNumber(values[used++], position), 4, layout.littleEndian);
        break;
      case 'd':
        result += floatBytes(checkNumber(values[used++], position), 8, layout.littleEndian);
        break;
      case 'c':
      case 's': {
        const text = checkString(values[used++], position);
        if (text.length < layout.size) raiseArgument(position + 1, 'string too short');
        running.spend(text.length);
        result += layout.size === 0 ? text : text.slice(0, layout.size);
        if (layout.option === 's') result += '\0';
        break;
      }
      default:
        layout.control();
    }
  }
  return result;
}

function unpack(format: Value, data: Value, start: Value): Value | Values {
  const given = arguments.length;
  const layout = new Layout(checkString(format, 1, given));
  const text = checkString(data, 2, given);
  // An unsigned number to C: a negative one is far behind the end.
  let position = checkOptionalInteger(start, 1, 3);
  if (position === 0) raiseArgument(3, 'offset must be 1 or greater');
  position--;
  const results: Value[] = [];
  while (layout.next()) {
    position += layout.paddingAt(position);
    requireData(text, position, layout.size);
    if (given + results.length + 2 > MAX_STACK_SLOTS) raise('stack overflow (too many results)');
    let { size } = layout;
    switch (layout.option) {
      case 'b':
      case 'B':
      case 'h':
      case 'H':
      case 'l':
      case 'L':
      case 'T':
      case 'i':
      case 'I':
        results.push(readInteger(text, position, layout));
        break;
      case 'x':
        break;
      case 'f':
        readBytes(text, position, 4);
        results.push(bytes.getFloat32(0, layout.littleEndian));
        break;
      case 'd':
        readBytes(text, position, 8);
        results.push(bytes.getFloat64(0, layout.littleEndian));
        break;
      case 'c':
        if (size === 0) {
          size = sizeBefore(results);
          requireData(text, position, size);
        }
        results.push(text.slice(position, position + size));
        break;
      case 's': {
        const zero = text.indexOf('\0', position);
        if (zero < 0) raise('unfinished string in data');
        size = zero - position + 1;
        results.push(text.slice(position, zero));
        break;
      }
      default:
        layout.control();
    }
    position += size;
  }
  results.push(position + 1);
  return packResults(results);
}

function size(format: Value): number {
  const layout = new Layout(checkString(format, 1, arguments.length));
  let position = 0;
  while (layout.next()) {
    position += layout.paddingAt(position);
    if (layout.option === 's') raiseArgument(1, "option 's' has no fixed size");
    if (layout.option === 'c' && layout.size === 0) raiseArgument(1, "option 'c0' has no fixed size");
    if (!/[A-Za-z0-9]/.test(layout.option)) layout.control();
    position += layout.size;
  }
  return position;
}

export const struct: Library = { pack, unpack, size };

function requireData(text: string, position: number, size: number): void {
  if (position < 0 || position + size > text.length) raiseArgument(2, 'data string too short');
}

/** What `c0` takes for its size, and takes from the results: the number before, or a string that reads as one. */
function sizeBefore(results: Value[]): number {
  const last = results.pop();
  const number = typeof last === 'string' ? stringToNumber(last) : last;
  if (typeof number !== 'number') raise("format 'c0' needs a previous size");
  return Number(toBigUnsignedLong(number));
}

function integerBytes(value: number, size: number, littleEndian: boolean): string {
  bytes.setBigUint64(0, BigInt.asUintN(64, value < 0 ? toBigLong(value) : toBigUnsignedLong(value)), true);
  let text = '';
  for (let i = 0; i < size; i++) {
    const byte = String.fromCharCode(i < 8 ? bytes.getUint8(i) : 0);
    text = littleEndian ? text + byte : byte + text;
  }
  return text;
}

/** Of more than eight bytes, the last eight in the order of the bytes; the sign is then where C's shift finds it. */
function readInteger(text: string, position: number, layout: Layout): number {
  let bits = 0n;
  for (let i = 0; i < layout.size; i++) {
    const at = layout.littleEndian ? layout.size - 1 - i : i;
    bits = BigInt.asUintN(64, (bits << 8n) | BigInt(text.charCodeAt(position + at)));
  }
  const isSigned = layout.option === layout.option.toLowerCase();
  if (!isSigned) return Number(bits);
  const mask = BigInt.asUintN(64, -1n << BigInt((layout.size * 8 - 1) & 63));
  return Number(BigInt.asIntN(64, (bits & mask) === 0n ? bits : bits | mask));
}

/** The sign of NaN is set, as in the processor's own. */
function floatBytes(value: number, size: 4 | 8, littleEndian: boolean): string {
  if (size === 8 && Number.isNaN(value)) bytes.setBigUint64(0, 0xfff8000000000000n, littleEndian);
  else if (size === 8) bytes.setFloat64(0, value, littleEndian);
  else if (Number.isNaN(value)) bytes.setUint32(0, 0xffc00000, littleEndian);
  else bytes.setFloat32(0, value, littleEndian);
  let text = '';
  for (let i = 0; i < size; i++) text += String.fromCharCode(bytes.getUint8(i));
  return text;
}

function readBytes(text: string, position: number, size: number): void {
  for (let i = 0; i < size; i++) bytes.setUint8(i, text.charCodeAt(position + i));
}
