import { ARRAY_SLOT_BYTES, running } from '../values/running.js';
import { Table } from '../values/table.js';
import type { Value } from '../values/value.js';

/** The table of a constructor, with the slots that Lua gives it for its items and fields. */
export function makeTable(items: number, fields: number): Table {
  const table = new Table([]);
  table.resize(roundedUp(items), roundedUp(fields));
  return table;
}

/** A constructor of items only, of which `known` are written down; a call or `...` at its end gave the others. */
export function listOf(values: readonly Value[], known: number): Table {
  const array = values.slice();
  running.spend(array.length * ARRAY_SLOT_BYTES);
  for (let slots = roundedUp(known); array.length < slots; ) array.push(undefined);
  return new Table(array);
}

/** The last items of a constructor, from `place` on. */
export function setRest(table: Table, place: number, values: readonly Value[]): void {
  if (place + values.length > table.array.length) table.resizeArray(place + values.length);
  for (let at = 0; at < values.length; at++) table.array[place + at] = values[at];
}

/** The table `arg` that a function with `...` has in Lua 5.1 if it does not use `...`. */
export function argOf(values: readonly Value[]): Table {
  const table = makeTable(values.length, 1);
  table.resizeArray(values.length);
  setRest(table, 0, values);
  table.set('n', values.length);
  return table;
}

/** Sizes of new tables are written in a byte of Lua's code: above 15 they are rounded up. lobject.c, luaO_int2fb. */
function roundedUp(size: number): number {
  let mantissa = size;
  let exponent = 0;
  while (mantissa >= 16) {
    mantissa = (mantissa + 1) >> 1;
    exponent++;
  }
  return mantissa * 2 ** exponent;
}
