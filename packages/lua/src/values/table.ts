import { raisePlainly } from './raise.js';
import { ARRAY_SLOT_BYTES, HASH_SLOT_BYTES, running, TABLE_BYTES } from './running.js';
import type { Value } from './value.js';
import type { Words } from './words.js';

export const READONLY = 'Attempt to modify a readonly table';
export const NOT_A_KEY = Symbol('not a key of the table');
const NO_HASH: Map<Value, Value> = new Map();

/**
 * A Lua table: an array part and a hash part, sized as ltable.c sizes them, so that `#` finds the same border in an
 * array with holes. The array has exactly as many slots as Lua's. A key whose value is nil stays in the hash, as in
 * Lua, until the hash is full and is made anew: so `next` can be called while values are set to nil. Within the hash,
 * order is of insertion (Lua's is of hash values, which no script may count on). Functions beside the class are no
 * private methods because V8 makes objects of classes that have some more slowly.
 */
export class Table implements Words {
  /** Slot i is key i + 1. */
  array: Value[];
  hash: Map<Value, Value> = NO_HASH;
  /** How many keys the hash takes before it is made anew. */
  hashSlots = 0;
  metatable: Table | undefined = undefined;
  /** Redis protects its globals and libraries so. */
  readonly = false;
  /** Where `next` was called last. */
  cursor: Cursor | undefined = undefined;

  constructor(array: Value[] = []) {
    this.array = array;
    running.bytes -= TABLE_BYTES + array.length * ARRAY_SLOT_BYTES;
  }

  get(key: Value): Value {
    if (typeof key === 'number') {
      const slot = key - 1;
      if (slot >= 0 && slot < this.array.length && Number.isInteger(slot)) return this.array[slot];
    }
    return this.hash.get(key);
  }

  /** Without metamethods. The key is not nil and not NaN: `checkKey` is the caller's. */
  set(key: Value, value: Value): void {
    if (this.readonly) raisePlainly(READONLY);
    if (typeof key === 'number') {
      const slot = key - 1;
      if (slot >= 0 && slot < this.array.length && Number.isInteger(slot)) {
        this.array[slot] = value;
        return;
      }
    }
    if (this.hash.size < this.hashSlots || this.hash.has(key)) this.hash.set(key, value);
    else grow(this, key, value);
  }

  /** A border, found as luaH_getn finds it. */
  get length(): number {
    const { array } = this;
    const size = array.length;
    if (size > 0 && array[size - 1] === undefined) {
      let below = 0;
      let above = size;
      while (above - below > 1) {
        const middle = (below + above) >>> 1;
        if (array[middle - 1] === undefined) above = middle;
        else below = middle;
      }
      return below;
    }
    return this.hashSlots === 0 ? size : borderInHash(this, size);
  }

  /** A table serves as `Words` too. */
  word(place: Value): Value {
    return this.get(place);
  }

  table(): Table {
    return this;
  }

  /** The key behind `key`, or undefined behind the last; NOT_A_KEY where `key` is not in the table. */
  nextKey(key: Value): Value {
    const { array } = this;
    let slot = 0;
    let cursor: Cursor | undefined;
    if (typeof key === 'number' && key >= 1 && key <= array.length && Number.isInteger(key)) slot = key;
    else if (key !== undefined) {
      slot = array.length;
      cursor = cursorAt(this, key);
      if (cursor === undefined) return NOT_A_KEY;
    }
    for (; slot < array.length; slot++) if (array[slot] !== undefined) return slot + 1;
    cursor ??= new Cursor(this.hash);
    this.cursor = cursor;
    while (cursor.advance()) if (this.hash.get(cursor.key) !== undefined) return cursor.key;
    this.cursor = undefined;
    return undefined;
  }

  /** The hash keeps its size. luaH_resizearray. */
  resizeArray(arraySlots: number): void {
    this.resize(arraySlots, this.hashSlots);
  }

  resize(arraySlots: number, hashKeys: number): void {
    const { array, hash } = this;
    const hashSlots = hashKeys === 0 ? 0 : 2 ** ceilLog2(hashKeys);
    running.spend(Math.max(0, arraySlots - array.length) * ARRAY_SLOT_BYTES + hashSlots * HASH_SLOT_BYTES);
    const cut = array.length > arraySlots ? array.splice(arraySlots) : undefined;
    while (array.length < arraySlots) array.push(undefined);
    this.hashSlots = hashSlots;
    this.hash = hashSlots === 0 ? NO_HASH : new Map();
    for (let slot = 0; cut !== undefined && slot < cut.length; slot++) {
      if (cut[slot] !== undefined) this.hash.set(arraySlots + slot + 1, cut[slot]);
    }
    for (const [key, value] of hash) {
      if (value === undefined) continue;
      if (typeof key === 'number' && key >= 1 && key <= arraySlots && Number.isInteger(key)) array[key - 1] = value;
      else this.hash.set(key, value);
    }
  }
}

function borderInHash(table: Table, size: number): number {
  let below = size;
  let above = size + 1;
  while (table.get(above) !== undefined) {
    below = above;
    above *= 2;
  }
  while (above - below > 1) {
    const middle = Math.floor((below + above) / 2);
    if (table.get(middle) === undefined) above = middle;
    else below = middle;
  }
  return below;
}

function cursorAt(table: Table, key: Value): Cursor | undefined {
  const kept = table.cursor;
  if (kept !== undefined && kept.hash === table.hash && kept.key === key) return kept;
  if (!table.hash.has(key)) return undefined;
  // Every key before it is passed.
  running.work(table.hash.size);
  const cursor = new Cursor(table.hash);
  while (cursor.advance() && cursor.key !== key);
  return cursor;
}

/** The hash is full: both parts get new sizes, with room for one more key. ltable.c, rehash. */
function grow(table: Table, key: Value, value: Value): void {
  if (table.hashSlots === 1 && takeDeadSlot(table)) {
    table.hash.set(key, value);
    return;
  }
  const counts = new Array<number>(MAX_BITS + 1).fill(0);
  let inArray = 0;
  for (let slot = 0; slot < table.array.length; slot++) {
    if (table.array[slot] === undefined) continue;
    counts[ceilLog2(slot + 1)]!++;
    inArray++;
  }
  let total = inArray + 1;
  let integers = inArray + countInteger(key, counts);
  for (const [other, kept] of table.hash) {
    if (kept === undefined) continue;
    total++;
    integers += countInteger(other, counts);
  }
  const [arraySlots, used] = arraySize(counts, integers);
  table.resize(arraySlots, total - used);
  table.set(key, value);
}

/** Lua puts a new key over one without a value that has the same place. In a hash of one slot all have. */
function takeDeadSlot(table: Table): boolean {
  for (const value of table.hash.values()) if (value !== undefined) return false;
  table.hash.clear();
  return true;
}

/** Where the last call of `next` was, since a Map cannot be entered at a key. */
class Cursor {
  readonly hash: Map<Value, Value>;
  readonly #keys: Iterator<Value>;
  key: Value;

  constructor(hash: Map<Value, Value>) {
    this.hash = hash;
    this.#keys = hash.keys();
  }

  advance(): boolean {
    const step = this.#keys.next();
    this.key = step.value;
    return step.done !== true;
  }
}

/** Array parts have at most 2^MAX_BITS slots. */
const MAX_BITS = 26;

function ceilLog2(size: number): number {
  return size <= 1 ? 0 : 32 - Math.clz32(size - 1);
}

function countInteger(key: Value, counts: number[]): number {
  if (typeof key !== 'number' || key < 1 || key > 2 ** MAX_BITS || !Number.isInteger(key)) return 0;
  counts[ceilLog2(key)]!++;
  return 1;
}

/** The largest power of two whose slots would be more than half used, and how many of them would be. */
function arraySize(counts: readonly number[], integers: number): [number, number] {
  let below = 0;
  let used = 0;
  let size = 0;
  for (let bit = 0, power = 1; power / 2 < integers && bit <= MAX_BITS; bit++, power *= 2) {
    below += counts[bit]!;
    if (below > power / 2) {
      size = power;
      used = below;
    }
    if (below === integers) break;
  }
  return [size, used];
}
