import fc from 'fast-check';
import { LuaError } from '../../values/errors.js';
import { Table } from '../../values/table.js';
import { all, first, type LuaFunction, pack, type Value, type Values } from '../../values/value.js';
import { bit } from '../bit.js';
import { createCjson } from '../cjson/cjson.js';
import { JSON_NULL } from '../cjson/null.js';
import { cmsgpack } from '../cmsgpack/cmsgpack.js';
import type { Library } from '../library.js';
import { struct } from '../struct/struct.js';
import { calls, mostly, number, text } from './arbitrary-strings.js';
import type { Call } from './comparison.js';

/** Random calls of `bit`, `struct`, `cjson` and `cmsgpack`. */

function from(name: string, library: Library, ...given: fc.Arbitrary<Value>[]): fc.Arbitrary<Call> {
  return calls(name, library[name.slice(name.indexOf('.') + 1)] as LuaFunction, ...given);
}

const bits = mostly(
  fc.oneof(
    number,
    fc.double({ min: -(2 ** 40), max: 2 ** 40 }),
    fc.integer().map((n) => n / 2),
  ),
);
const shift = mostly(fc.oneof(fc.integer({ min: -40, max: 70 }), number));

export const bitCalls: fc.Arbitrary<Call> = fc.oneof(
  ...['tobit', 'bnot', 'bswap'].map((name) => from(`bit.${name}`, bit, bits)),
  ...['band', 'bor', 'bxor'].map((name) => from(`bit.${name}`, bit, bits, bits, bits)),
  ...['lshift', 'rshift', 'arshift', 'rol', 'ror'].map((name) => from(`bit.${name}`, bit, bits, shift)),
  from('bit.tohex', bit, bits, mostly(fc.integer({ min: -10, max: 10 }))),
);

const structOption = fc.oneof(
  { weight: 10, arbitrary: fc.constantFrom(...'bBhHlLTiIfdsx<> ') },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      '!',
      '!1',
      '!2',
      '!4',
      '!16',
      'i1',
      'I3',
      'i7',
      'I8',
      'i16',
      'I32',
      'c',
      'c0',
      'c2',
      'c5',
    ),
  },
  { weight: 1, arbitrary: fc.constantFrom('y', '!3', 'i33', 'i0', 'c99999999999', '\0', '!0', '\xff', '-') },
);
const structFormat = fc.array(structOption, { maxLength: 6 }).map((options) => options.join(''));
const structValue = mostly(
  fc.oneof<fc.Arbitrary<Value>[]>(number, number, fc.integer(), text, fc.constant('12345678')),
);
const packed = fc.oneof(
  text,
  fc.uint8Array({ maxLength: 40 }).map((bytes) => String.fromCharCode(...bytes)),
);

export const structCalls: fc.Arbitrary<Call> = fc.oneof(
  from('struct.pack', struct, mostly(structFormat), ...Array.from({ length: 6 }, () => structValue)),
  from('struct.unpack', struct, mostly(structFormat), mostly(packed)),
  from('struct.unpack', struct, structFormat, packed, mostly(fc.integer({ min: -9, max: 20 }))),
  from('struct.size', struct, mostly(structFormat)),
);

const scalar = fc.oneof<fc.Arbitrary<Value>[]>(
  fc.boolean(),
  number,
  text,
  fc.string().map((unicode) => Buffer.from(unicode).toString('latin1')),
  fc.constantFrom<Value>('"\\/\b\f\n\r\t\x01\x7f', JSON_NULL, 1.5, 1e100, -0.1),
);
const key = fc.oneof<fc.Arbitrary<Value>[]>(text, fc.nat(3), fc.constantFrom<Value>(1.5, -1, 0, 2 ** 31, 1e15, true));

/** One key at most beside those of an array without holes: the order of more is not Redis's. */
function values(arrays: (element: fc.Arbitrary<Value>) => fc.Arbitrary<Table>): fc.Arbitrary<Value> {
  return fc.letrec<{ value: Value }>((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      scalar,
      arrays(tie('value')),
      fc.tuple(key, tie('value')).map((entry) => tableOfEntries([entry])),
    ),
  })).value;
}

const value = values((element) => fc.array(element, { maxLength: 4 }).map(tableOfList));

/** With holes: cjson writes nulls there, or refuses the array. */
const sparseValue = values((element) =>
  fc.oneof(
    fc
      .array(fc.oneof({ weight: 8, arbitrary: element }, { weight: 1, arbitrary: fc.constant(undefined) }))
      .map(tableOfList),
    fc.tuple(fc.constantFrom(5, 11, 12, 25), element).map(([place, kept]) =>
      tableOfEntries([
        [1, 'x'],
        [place, kept],
      ]),
    ),
  ),
);

/** Written as objects where the setting says so, and then without an order. */
const convertedValue = values((element) =>
  fc.oneof(
    fc.array(element, { maxLength: 4 }).map(tableOfList),
    fc.tuple(fc.constantFrom(2, 5, 11, 12, 25), element).map((entry) => tableOfEntries([entry])),
  ),
);

function tableOfList(list: Value[]): Table {
  return tableOfEntries(list.map((kept, slot) => [slot + 1, kept]));
}

function tableOfEntries(entries: [Value, Value][]): Table {
  const table = new Table();
  for (const [each, kept] of entries) if (kept !== undefined) table.set(each, kept);
  return table;
}

const manyKeys = fc
  .array(fc.tuple(text, fc.oneof(scalar, sparseValue)), { maxLength: 8 })
  .map((entries) => tableOfEntries(entries));

const jsonPiece = fc.constantFrom(
  ...[
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '"a"',
    '"b\\n"',
    '"\\u00e9"',
    '"\\ud83d\\ude00"',
    '"\\ud83d"',
    '"\\x"',
    '"',
    '"\\u12',
  ],
  ...[
    '1',
    '-2.5e3',
    '0x1F',
    'inf',
    '-nan',
    'nan',
    '+1',
    '01',
    '-',
    '.5',
    '1.',
    '1e',
    'true',
    'false',
    'null',
    'nul',
    ' ',
    '\n',
    '\0',
    '\xff',
  ],
);
const wellFormedJson = fc.json().map((json) => Buffer.from(json).toString('latin1'));
const brokenJson = fc.tuple(wellFormedJson, fc.nat(), fc.nat(3), jsonPiece).map(([json, at, cut, piece]) => {
  const place = at % (json.length + 1);
  return json.slice(0, place) + piece + json.slice(place + cut);
});
const json = fc.oneof(
  wellFormedJson,
  brokenJson,
  fc.array(jsonPiece, { maxLength: 8 }).map((pieces) => pieces.join('')),
);

const SETTINGS = [
  ['encode_sparse_array', [fc.constantFrom<Value>(true, false, 'on', 'x'), fc.integer({ min: -1, max: 3 }), fc.nat(6)]],
  ['encode_max_depth', [fc.nat(3)]],
  ['decode_max_depth', [fc.nat(3)]],
  ['encode_number_precision', [fc.integer({ min: 0, max: 16 })]],
  ['encode_keep_buffer', [fc.constantFrom<Value>(true, false, 'off')]],
  ['encode_invalid_numbers', [fc.constantFrom<Value>(true, false, 'null', 'on', 'other', 1)]],
  ['decode_invalid_numbers', [fc.constantFrom<Value>(true, false, 'null')]],
] as const;

/** A setting, then an encoding or decoding under it. */
function underSetting(name: string, then: 'encode' | 'decode'): Pick<Call, 'lua' | 'ours'> {
  const lua = `function(given, ...)
    local json = cjson.new()
    local set = {pcall(json.${name}, ...)}
    local done = {pcall(json.${then}, given)}
    return set, done
  end`;
  return {
    lua,
    ours: (given, ...setting) => {
      const library = createCjson(() => undefined);
      const set = protect(() => (library[name] as LuaFunction)(...setting));
      return pack([set, protect(() => (library[then] as LuaFunction)(given))]);
    },
  };
}

function protect(call: () => Value | Values): Table {
  try {
    return new Table([true, ...all(call())]);
  } catch (error) {
    if (error instanceof LuaError) return new Table([false, error.value]);
    throw error;
  }
}

const settingCalls = SETTINGS.flatMap(([name, given]) =>
  (['encode', 'decode'] as const).map((then) =>
    fc
      .tuple(
        then === 'encode' ? convertedValue : json,
        fc.tuple(...(given as readonly fc.Arbitrary<Value>[])),
        fc.nat(given.length),
      )
      .map(([first, setting, missing]) => ({
        ...underSetting(name, then),
        given: [first, ...setting.slice(0, setting.length - missing)],
      })),
  ),
);

const cjson = createCjson(() => undefined);

/**
 * Of tables with many keys. Which of two values is refused first depends on the order of keys, so messages are not
 * compared.
 */
function roundTrip(library: Library, name: string, there: string, back: string): fc.Arbitrary<Call> {
  const lua = `function(v)
    local ok, result = pcall(function() return ${name}.${back}(${name}.${there}(v)) end)
    return ok and result
  end`;
  const ours: LuaFunction = (given) => {
    const [ok, result] = protect(() =>
      (library[back] as LuaFunction)(first((library[there] as LuaFunction)(given))),
    ).array;
    return ok === true && result;
  };
  return fc.oneof(manyKeys, sparseValue).map((given) => ({ lua, ours, given: [given] }));
}

export const cjsonCalls: fc.Arbitrary<Call> = fc.oneof(
  from('cjson.encode', cjson, sparseValue),
  from('cjson.decode', cjson, mostly(json)),
  calls('cjson.encode', cjson.encode as LuaFunction, scalar, scalar),
  roundTrip(cjson, 'cjson', 'encode', 'decode'),
  ...settingCalls,
);

const messagePackPiece = fc.constantFrom(
  ...['\x01', '\xff', '\x80', '\x81', '\x82', '\x90', '\x92', '\xa0', '\xa1a', '\xc0', '\xc1', '\xc2', '\xc3', '\xc7'],
  ...[
    '\xca\x3f\x80\0\0',
    '\xcb\x3f\xf0\0\0\0\0\0\0',
    '\xcc\xfe',
    '\xcd\xff\xfe',
    '\xce\xff\xff\xff\xfe',
    '\xd0\x80',
    '\xd1\x80\x01',
  ],
  ...[
    '\xcf\xff\0\0\0\0\0\0\x01',
    '\xd3\xff\0\0\0\0\0\0\x01',
    '\xd2\x80\0\0\x01',
    '\xd9\x02ab',
    '\xda\0\x01z',
    '\xdb\0\0\0\x01y',
  ],
  ...['\xdc\0\x02', '\xdd\0\0\0\x01', '\xde\0\x01', '\xdf\0\0\0\x01', '\xda\xff\xff', '\xdd\xff\xff\xff\xff'],
);
const messagePack = fc.oneof(
  fc.array(messagePackPiece, { maxLength: 8 }).map((pieces) => pieces.join('')),
  fc.uint8Array({ maxLength: 12 }).map((bytes) => String.fromCharCode(...bytes)),
);

export const cmsgpackCalls: fc.Arbitrary<Call> = fc.oneof(
  from('cmsgpack.pack', cmsgpack, value),
  from('cmsgpack.pack', cmsgpack, scalar, value, scalar),
  from('cmsgpack.unpack', cmsgpack, mostly(messagePack)),
  from('cmsgpack.unpack_one', cmsgpack, mostly(messagePack), mostly(fc.integer({ min: -1, max: 9 }))),
  from(
    'cmsgpack.unpack_limit',
    cmsgpack,
    mostly(messagePack),
    mostly(fc.integer({ min: -1, max: 4 })),
    mostly(fc.integer({ min: -1, max: 9 })),
  ),
  roundTrip(cmsgpack, 'cmsgpack', 'pack', 'unpack'),
);
