import type { Table } from './table.js';

/**
 * A Lua value: nil is `undefined`, a number is a double, a string is a JavaScript string with one byte in each
 * character, a light userdata (`cjson.null`) is a symbol. Nothing else is ever given to a script, so `typeof` alone
 * tells the types apart, and 'object' means `Table`.
 */
export type Value = undefined | boolean | number | string | symbol | Table | LuaFunction;

/**
 * Takes its arguments by position; missing ones are nil. One result is returned as it is, any other number as `Values`.
 */
export type LuaFunction = (...values: Value[]) => Value | Values;

/** No value, or two and more. It is what a function returns, and never stored: `first` or `all` unpack it. */
export class Values {
  readonly list: readonly Value[];

  constructor(list: readonly Value[]) {
    this.list = list;
  }
}

export const NONE = new Values([]);

/** What a function with these results returns. */
export function pack(list: readonly Value[]): Value | Values {
  if (list.length === 1) return list[0];
  return list.length === 0 ? NONE : new Values(list);
}

export function first(result: Value | Values): Value {
  return result instanceof Values ? result.list[0] : result;
}

export function all(result: Value | Values): readonly Value[] {
  return result instanceof Values ? result.list : [result];
}

/** `value` in front of the results of a call. */
export function prepend(value: Value, result: Value | Values): Values {
  return new Values(result instanceof Values ? [value, ...result.list] : [value, result]);
}

export function typeName(value: Value): string {
  switch (typeof value) {
    case 'undefined':
      return 'nil';
    case 'object':
      return 'table';
    case 'symbol':
      return 'userdata';
    default:
      return typeof value;
  }
}
