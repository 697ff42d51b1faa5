import { callFunction } from '../runtime/calls.js';
import { isTrue, lessThan } from '../runtime/comparison.js';
import { numberToString } from '../values/numbers.js';
import { raise, raiseArgumentType } from '../values/raise.js';
import { running, STRING_BYTES } from '../values/running.js';
import type { Table } from '../values/table.js';
import { first, type LuaFunction, NONE, typeName, type Value } from '../values/value.js';
import { intArgument, optionalInt, optionalString, tableArgument } from './arguments.js';
import { sort } from './sort.js';

/** ltablib.c */
export const table: Record<string, LuaFunction> = {
  concat(...list) {
    const separator = optionalString(list, 2, '');
    const source = tableArgument(list, 1);
    const from = optionalInt(list, 3, 1);
    const to = list[3] === undefined ? source.length : intArgument(list, 4);
    const parts: string[] = [];
    for (let place = from; place <= to; place++) {
      const value = source.get(place);
      if (typeof value !== 'string' && typeof value !== 'number') {
        return raise(`invalid value (${typeName(value)}) at index ${place} in table for 'concat'`);
      }
      const part = typeof value === 'number' ? numberToString(value) : value;
      running.spend(part.length + separator.length + STRING_BYTES);
      parts.push(part);
    }
    return parts.join(separator);
  },
  foreach(...list) {
    const source = tableArgument(list, 1);
    const visit = functionArgument(list, 2);
    for (let key = source.nextKey(undefined); key !== undefined; key = source.nextKey(key)) {
      running.work(1);
      const result = first(callFunction(visit, key, source.get(key)));
      if (result !== undefined) return result;
    }
    return NONE;
  },
  foreachi(...list) {
    const source = tableArgument(list, 1);
    const visit = functionArgument(list, 2);
    const size = source.length;
    for (let place = 1; place <= size; place++) {
      running.work(1);
      const result = first(callFunction(visit, place, source.get(place)));
      if (result !== undefined) return result;
    }
    return NONE;
  },
  getn: (...list) => tableArgument(list, 1).length,
  insert(...list) {
    const target = tableArgument(list, 1);
    let end = target.length + 1;
    if (list.length === 2) {
      put(target, end, list[1]);
      return NONE;
    }
    if (list.length !== 3) return raise("wrong number of arguments to 'insert'");
    const at = intArgument(list, 2);
    if (at > end) end = at;
    for (; end > at; end--) put(target, end, target.get(end - 1));
    put(target, at, list[2]);
    return NONE;
  },
  maxn(...list) {
    const source = tableArgument(list, 1);
    let most = 0;
    running.work(source.array.length + source.hash.size);
    source.array.forEach((value, slot) => {
      if (value !== undefined) most = slot + 1;
    });
    for (const [key, value] of source.hash)
      if (value !== undefined && typeof key === 'number' && key > most) most = key;
    return most;
  },
  remove(...list) {
    const source = tableArgument(list, 1);
    const end = source.length;
    let at = optionalInt(list, 2, end);
    if (at < 1 || at > end) return NONE;
    const removed = source.get(at);
    for (; at < end; at++) put(source, at, source.get(at + 1));
    put(source, end, undefined);
    return removed;
  },
  setn(...list) {
    tableArgument(list, 1);
    return raise("'setn' is obsolete");
  },
  sort(...list) {
    const target = tableArgument(list, 1);
    const compare = list[1];
    if (compare !== undefined) functionArgument(list, 2);
    const isLess =
      compare === undefined
        ? lessFromLibrary
        : (left: Value, right: Value) => isTrue(first(callFunction(compare, left, right)));
    sort(target, isLess);
    return NONE;
  },
};

/** Errors of a comparison that a library makes have no position. */
function lessFromLibrary(left: Value, right: Value): boolean {
  if (typeof left === 'number' && typeof right === 'number') return left < right;
  return callFunction(lessThan as LuaFunction, left, right) === true;
}

function functionArgument(list: readonly Value[], number: number): LuaFunction {
  const value = list[number - 1];
  return typeof value === 'function' ? value : raiseArgumentType(number, 'function', value, list.length);
}

/** Without metamethods, and without a position in errors. */
function put(target: Table, key: number, value: Value): void {
  running.work(1);
  target.set(key, value);
}
