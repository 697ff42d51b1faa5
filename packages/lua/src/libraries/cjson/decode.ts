import { raise } from '../../values/raise.js';
import { running } from '../../values/running.js';
import { Table } from '../../values/table.js';
import type { Value } from '../../values/value.js';
import { MAX_STACK_SLOTS } from '../library.js';
import { JSON_NULL } from './null.js';
import type { Settings } from './settings.js';
import { Tokens } from './tokens.js';

/**
 * `cjson.decode`. Arrays and objects that are not complete wait on a stack of their own, so nesting costs no stack of
 * JavaScript; it is bounded by the setting and, as in Lua, by the slots that it takes there: a table, and the key of
 * the value to come in an object.
 */

export function decode(text: string, settings: Settings): Value {
  if (text.length >= 2 && (text.charCodeAt(0) === 0 || text.charCodeAt(1) === 0)) {
    raise('JSON parser does not support UTF-16 or UTF-32');
  }
  const tokens = new Tokens(text, settings);
  const open: OpenTable[] = [];
  let slots = 1;
  tokens.next();
  for (;;) {
    if (--running.turns < 0) running.interrupt();
    let value: Value;
    if (tokens.type === 'T_OBJ_BEGIN' || tokens.type === 'T_ARR_BEGIN') {
      const isObject = tokens.type === 'T_OBJ_BEGIN';
      const depth = open.length + 1;
      if (depth > settings.decodeMaxDepth || slots + (isObject ? 3 : 2) > MAX_STACK_SLOTS) {
        raise(`Found too many nested data structures (${depth}) at character ${tokens.position}`);
      }
      const table = new Table();
      if (tokens.next() !== (isObject ? 'T_OBJ_END' : 'T_ARR_END')) {
        open.push({ table, key: isObject ? readKey(tokens) : 1 });
        slots += isObject ? 2 : 1;
        continue;
      }
      value = table;
    } else value = scalar(tokens);
    // A complete value goes into the table that waits for it, which may then be complete itself.
    for (;;) {
      tokens.next();
      const last = open.at(-1);
      if (last === undefined) {
        if (tokens.type !== 'T_END') refuse(tokens, 'the end');
        return value;
      }
      last.table.set(last.key, value);
      const isObject = typeof last.key === 'string';
      if (tokens.type === 'T_COMMA') {
        tokens.next();
        last.key = typeof last.key === 'number' ? last.key + 1 : readKey(tokens);
        break;
      }
      if (tokens.type !== (isObject ? 'T_OBJ_END' : 'T_ARR_END')) {
        refuse(tokens, isObject ? 'comma or object end' : 'comma or array end');
      }
      open.pop();
      slots -= isObject ? 2 : 1;
      value = last.table;
    }
  }
}

interface OpenTable {
  readonly table: Table;
  /** Of the next value: a string in an object, a number in an array. */
  key: string | number;
}

/** Reads the key and its colon, and goes on to the value. */
function readKey(tokens: Tokens): string {
  if (tokens.type !== 'T_STRING') refuse(tokens, 'object key string');
  const key = tokens.text;
  if (tokens.next() !== 'T_COLON') refuse(tokens, 'colon');
  tokens.next();
  return key;
}

function scalar(tokens: Tokens): Value {
  switch (tokens.type) {
    case 'T_STRING':
      return tokens.text;
    case 'T_NUMBER':
      return tokens.number;
    case 'T_BOOLEAN':
      return tokens.boolean;
    case 'T_NULL':
      return JSON_NULL;
    default:
      return refuse(tokens, 'value');
  }
}

function refuse(tokens: Tokens, expected: string): never {
  const found = tokens.type === 'T_ERROR' ? tokens.text : tokens.type;
  return raise(`Expected ${expected} but found ${found} at character ${tokens.start + 1}`);
}
