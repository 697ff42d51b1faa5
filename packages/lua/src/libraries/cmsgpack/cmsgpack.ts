import { raise } from '../../values/raise.js';
import { pack as packResults, type Value, type Values } from '../../values/value.js';
import { checkInteger, checkOptionalInteger, checkString } from '../checks.js';
import { INT_MAX, toInt } from '../integers.js';
import type { Library } from '../library.js';
import { pack } from './pack.js';
import { Reader } from './reader.js';

/** The library `cmsgpack` as Redis ships it: MessagePack. */

function unpack(data: Value): Value | Values {
  const text = checkString(data, 1, arguments.length);
  return unpackAll(text, arguments.length);
}

function unpack_one(data: Value, offset: Value): Value | Values {
  const start = checkOptionalInteger(offset, 0, 2);
  return unpackSome(checkString(data, 1, arguments.length), 1, start);
}

function unpack_limit(data: Value, limit: Value, offset: Value): Value | Values {
  const most = checkInteger(limit, 2, arguments.length);
  const start = checkOptionalInteger(offset, 0, 3);
  return unpackSome(checkString(data, 1, arguments.length), most, start);
}

/** All values; `slots` of Lua's stack are taken. */
function unpackAll(text: string, slots: number): Value | Values {
  const reader = new Reader(text, 0, slots);
  const values: Value[] = [];
  while (!reader.atEnd && values.length < INT_MAX) values.push(reader.read());
  return packResults(values);
}

/** Where the values that follow begin, -1 if none do, and the values. */
function unpackSome(text: string, limit: number, offset: number): Value | Values {
  // The original prints the length in the place of the limit.
  if (offset < 0 || limit < 0) {
    raise(`Invalid request to unpack with offset of ${toInt(offset)} and limit of ${text.length}.`);
  }
  if (offset > text.length) {
    raise(`Start offset ${toInt(offset)} greater than input length ${text.length}.`);
  }
  if (limit === 0 && offset === 0) return unpackAll(text, 1);
  const reader = new Reader(text, offset, 1);
  const values: Value[] = [-1];
  while (!reader.atEnd && values.length <= limit) values.push(reader.read());
  if (!reader.atEnd) values[0] = reader.position;
  return packResults(values);
}

export const cmsgpack: Library = {
  pack,
  unpack,
  unpack_one,
  unpack_limit,
  _NAME: 'cmsgpack',
  _VERSION: 'lua-cmsgpack 0.4.0',
  _COPYRIGHT: 'Copyright (C) 2012, Salvatore Sanfilippo',
  _DESCRIPTION: 'MessagePack C implementation for Lua',
};
