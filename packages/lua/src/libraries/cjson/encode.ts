import { general } from '../../values/decimal.js';
import { numberToString } from '../../values/numbers.js';
import { raise } from '../../values/raise.js';
import { running } from '../../values/running.js';
import type { Table } from '../../values/table.js';
import { typeName, type Value } from '../../values/value.js';
import { INT_MAX } from '../integers.js';
import { MAX_STACK_SLOTS } from '../library.js';
import { charge, charged, replaceBytes } from '../memory.js';
import { JSON_NULL } from './null.js';
import type { Settings } from './settings.js';

/**
 * `cjson.encode`. Tables that are being written wait on a stack of their own, so nesting costs no stack of JavaScript;
 * it is bounded by the setting and, as in Lua, by the slots that it takes there: the value in an array, key and value
 * in an object, and a few more to look into the next table.
 */

const SLOTS_TO_LOOK = 3;
const DEFAULT_PRECISION = 14;

export function encode(root: Value, settings: Settings): string {
  const open: OpenTable[] = [];
  let slots = 1;
  let text = '';
  let value = root;
  for (;;) {
    charge(1);
    if (typeof value === 'object') {
      const depth = open.length + 1;
      if (depth > settings.encodeMaxDepth || slots + SLOTS_TO_LOOK > MAX_STACK_SLOTS) {
        raise(`Cannot serialise, excessive nesting (${depth})`);
      }
      const table = new OpenTable(value, arrayLength(value, settings), settings);
      open.push(table);
      text += table.isArray ? '[' : '{';
      slots += table.slots;
    } else {
      text += charged(scalarText(value, settings));
    }
    let last = open.at(-1);
    while (last !== undefined && !last.advance()) {
      text += last.isArray ? ']' : '}';
      slots -= last.slots;
      open.pop();
      last = open.at(-1);
    }
    if (last === undefined) break;
    text += last.before;
    value = last.value;
  }
  return text;
}

/** A table that is being written, and the place in it. */
class OpenTable {
  readonly #table: Table;
  readonly #settings: Settings;
  readonly #length: number;
  readonly isArray: boolean;
  readonly slots: number;
  #index = 0;
  #rest: Iterator<[Value, Value]> | undefined;
  #isFirst = true;
  /** The value at this place, and what stands before it: a comma, a key. */
  value: Value;
  before = '';

  constructor(table: Table, length: number, settings: Settings) {
    this.#table = table;
    this.#settings = settings;
    this.isArray = length > 0;
    this.#length = this.isArray ? length : table.array.length;
    this.slots = this.isArray ? 1 : 2;
    running.spend(OPEN_TABLE_BYTES);
  }

  /** To the next value; false at the end. */
  advance(): boolean {
    const comma = this.#isFirst ? '' : ',';
    if (this.isArray) {
      if (this.#index === this.#length) return false;
      this.value = this.#table.get(++this.#index);
      this.before = comma;
    } else {
      const key = this.#nextKey();
      if (key === undefined) return false;
      this.before = comma + charged(`${keyText(key, this.#settings)}:`);
    }
    this.#isFirst = false;
    return true;
  }

  /** The next key of an object; its value is in `value`. */
  #nextKey(): Value {
    const { array, hash } = this.#table;
    while (this.#index < this.#length) {
      this.value = array[this.#index++];
      if (this.value !== undefined) return this.#index;
    }
    this.#rest ??= hash.entries();
    for (let step = this.#rest.next(); step.done !== true; step = this.#rest.next()) {
      this.value = step.value[1];
      if (this.value !== undefined) return step.value[0];
    }
    return undefined;
  }
}

const OPEN_TABLE_BYTES = 100;

/**
 * How many values the array has that a table is written as; not more than 0 for an object. Only positive integers may
 * be keys, and most of the values must be there, or the table is excessively sparse.
 */
function arrayLength(table: Table, settings: Settings): number {
  const { array, hash } = table;
  let largest = 0;
  let count = 0;
  for (let slot = 0; slot < array.length; slot++) {
    if (array[slot] === undefined) continue;
    count++;
    largest = slot + 1;
  }
  for (const [key, value] of hash) {
    if (value === undefined) continue;
    if (typeof key !== 'number' || !(key >= 1) || Math.floor(key) !== key) return -1;
    count++;
    // A key too large for an int becomes the least one.
    if (key > largest) largest = key > INT_MAX ? -INT_MAX - 1 : key;
  }
  running.turns -= array.length + hash.size;
  const isSparse =
    settings.sparseRatio > 0 && largest > Math.imul(count, settings.sparseRatio) && largest > settings.sparseSafe;
  if (!isSparse) return largest;
  return settings.sparseConvert ? -1 : raise('Cannot serialise table: excessively sparse array');
}

function keyText(key: Value, settings: Settings): string {
  if (typeof key === 'string') return quoted(key);
  if (typeof key === 'number') return `"${numberText(key, settings)}"`;
  return raise(`Cannot serialise ${typeName(key)}: table key must be a number or string`);
}

function scalarText(value: Value, settings: Settings): string {
  switch (typeof value) {
    case 'string':
      return quoted(value);
    case 'number':
      return numberText(value, settings);
    case 'boolean':
      return value ? 'true' : 'false';
    case 'undefined':
      return 'null';
    default:
      if (value === JSON_NULL) return 'null';
      return raise(`Cannot serialise ${typeName(value)}: type not supported`);
  }
}

function numberText(value: number, settings: Settings): string {
  if (!Number.isFinite(value)) return invalidNumberText(value, settings);
  if (settings.numberPrecision === DEFAULT_PRECISION) return numberToString(value);
  const text = general(Math.abs(value), settings.numberPrecision);
  return value < 0 || Object.is(value, -0) ? `-${text}` : text;
}

function invalidNumberText(value: number, settings: Settings): string {
  if (settings.encodeInvalidNumbers === 'off') raise('Cannot serialise number: must not be NaN or Inf');
  if (settings.encodeInvalidNumbers === 'null') return 'null';
  if (Number.isNaN(value)) return 'nan';
  return value > 0 ? 'inf' : '-inf';
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what JSON escapes
const TO_ESCAPE = /[\x00-\x1f"\\/\x7f]/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what JSON escapes
const ALL_TO_ESCAPE = /[\x00-\x1f"\\/\x7f]/g;
const ESCAPES = new Map([
  ['\b', '\\b'],
  ['\t', '\\t'],
  ['\n', '\\n'],
  ['\f', '\\f'],
  ['\r', '\\r'],
  ['"', '\\"'],
  ['/', '\\/'],
  ['\\', '\\\\'],
]);

function quoted(text: string): string {
  return TO_ESCAPE.test(text) ? `"${replaceBytes(text, ALL_TO_ESCAPE, escapeText)}"` : `"${text}"`;
}

function escapeText(byte: string): string {
  return ESCAPES.get(byte) ?? `\\u00${byte.charCodeAt(0).toString(16).padStart(2, '0')}`;
}
