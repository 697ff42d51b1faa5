import { raise, raisePlainly } from '../../values/raise.js';
import { running, STRING_BYTES } from '../../values/running.js';
import { Table } from '../../values/table.js';
import type { Value } from '../../values/value.js';
import { MAX_STACK_SLOTS } from '../library.js';

/**
 * MessagePack, read value by value. Tables that are not complete wait on a stack of their own, so nesting costs no
 * stack of JavaScript. It is bounded where Lua's stack bounds it: an open table takes a slot, so does the key of the
 * value to come, and so does each value that is to be returned.
 */
export class Reader {
  readonly #text: string;
  readonly #open: OpenTable[] = [];
  #slots: number;
  position: number;

  constructor(text: string, position: number, slots: number) {
    this.#text = text;
    this.#slots = slots;
    this.position = position;
  }

  get atEnd(): boolean {
    return this.position >= this.#text.length;
  }

  /** Reads the next value, with all that is in it. */
  read(): Value {
    for (;;) {
      if (--running.turns < 0) running.interrupt();
      if (this.#slots + 1 > MAX_STACK_SLOTS) raise(TOO_MANY_VALUES);
      let value = this.#readOne();
      if (value instanceof Table && this.#open.at(-1)?.table === value) continue;
      // A complete value goes into the table that waits for it, which may then be complete itself.
      for (;;) {
        const last = this.#open.at(-1);
        if (last === undefined) {
          this.#slots++;
          return value;
        }
        this.#put(last, value);
        if (last.left > 0) break;
        this.#open.pop();
        this.#slots -= last.isMap ? 1 : 2;
        value = last.table;
      }
    }
  }

  #put(into: OpenTable, value: Value): void {
    into.left--;
    if (!into.isMap) {
      into.table.set(into.index++, value);
    } else if (into.isKeyRead) {
      if (into.key === undefined) raisePlainly('table index is nil');
      if (Number.isNaN(into.key)) raisePlainly('table index is NaN');
      into.table.set(into.key, value);
      into.isKeyRead = false;
      this.#slots--;
    } else {
      into.key = value;
      into.isKeyRead = true;
      this.#slots++;
    }
  }

  /** Reads a value, or no more than the header of a table that is not empty: then it is the last open one. */
  #readOne(): Value {
    const type = this.#unsigned(1);
    if (type <= 0x7f) return type;
    if (type >= 0xe0) return type - 0x100;
    if (type <= 0x8f) return this.#openMap(type & 0xf);
    if (type <= 0x9f) return this.#openArray(type & 0xf);
    if (type <= 0xbf) return this.#string(type & 0x1f);
    switch (type) {
      case 0xc0:
        return undefined;
      case 0xc2:
        return false;
      case 0xc3:
        return true;
      case 0xca:
        this.#load(4);
        return bytes.getFloat32(0);
      case 0xcb:
        this.#load(8);
        return bytes.getFloat64(0);
      case 0xcc:
        return this.#unsigned(1);
      case 0xcd:
        return this.#unsigned(2);
      case 0xce:
        return this.#unsigned(4);
      case 0xd0:
        return (this.#unsigned(1) << 24) >> 24;
      case 0xd1:
        return (this.#unsigned(2) << 16) >> 16;
      case 0xd2:
        return this.#unsigned(4) | 0;
      // The unsigned one too: Lua's integers are signed.
      case 0xcf:
      case 0xd3:
        this.#load(8);
        return Number(bytes.getBigInt64(0));
      case 0xd9:
        return this.#string(this.#unsigned(1));
      case 0xda:
        return this.#string(this.#unsigned(2));
      case 0xdb:
        return this.#string(this.#unsigned(4));
      case 0xdc:
        return this.#openArray(this.#unsigned(2));
      case 0xdd:
        return this.#openArray(this.#unsigned(4));
      case 0xde:
        return this.#openMap(this.#unsigned(2));
      case 0xdf:
        return this.#openMap(this.#unsigned(4));
      default:
        return raise('Bad data format in input.');
    }
  }

  #need(size: number): void {
    if (this.#text.length - this.position < size) raise('Missing bytes in input.');
  }

  #unsigned(size: number): number {
    this.#need(size);
    let value = 0;
    for (let i = 0; i < size; i++) value = value * 256 + this.#text.charCodeAt(this.position++);
    return value;
  }

  #load(size: number): void {
    this.#need(size);
    for (let i = 0; i < size; i++) bytes.setUint8(i, this.#text.charCodeAt(this.position++));
  }

  #string(length: number): string {
    this.#need(length);
    running.spend(STRING_BYTES + length);
    const start = this.position;
    this.position += length;
    return this.#text.slice(start, this.position);
  }

  #openArray(length: number): Table {
    const table = new Table();
    if (this.#slots + 2 > MAX_STACK_SLOTS) raise('stack overflow (in function mp_decode_to_lua_array)');
    if (length > 0) this.#begin({ table, left: length, isMap: false, index: 1, key: undefined, isKeyRead: false }, 2);
    return table;
  }

  #openMap(length: number): Table {
    const table = new Table();
    if (length > 0)
      this.#begin({ table, left: length * 2, isMap: true, index: 1, key: undefined, isKeyRead: false }, 1);
    return table;
  }

  #begin(open: OpenTable, slots: number): void {
    this.#open.push(open);
    this.#slots += slots;
  }
}

interface OpenTable {
  readonly table: Table;
  /** Values to come; of a map, keys are counted too. */
  left: number;
  readonly isMap: boolean;
  /** Of an array, where the next value goes. */
  index: number;
  /** Of a map, the key of the next value, once it is read. */
  key: Value;
  isKeyRead: boolean;
}

const TOO_MANY_VALUES = 'stack overflow (too many return values at once; use unpack_one or unpack_limit instead.)';

const bytes = new DataView(new ArrayBuffer(8));
