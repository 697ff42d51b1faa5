import fc from 'fast-check';
import { Table } from '../../values/table.js';
import { all, type LuaFunction, type Value, type Values } from '../../values/value.js';
import { string } from '../string/string.js';
import type { Call } from './comparison.js';

/** Random calls of `string`: subjects of few letters and patterns of few pieces, so that they meet. */

const letters = fc.constantFrom(
  'a',
  'b',
  'ab',
  'A',
  '1',
  '0',
  ' ',
  '(',
  ')',
  '%',
  '-',
  '.',
  '\0',
  '\xff',
  '\xe9',
  '\n',
);
export const text = fc.array(letters, { maxLength: 12 }).map((parts) => parts.join(''));

const singles = [
  'a',
  'b',
  '.',
  '%a',
  '%d',
  '%A',
  '%w',
  '%s',
  '%z',
  '%p',
  '%%',
  '%.',
  '[ab]',
  '[^a]',
  '[a-c1]',
  '[%w_]',
  '[^%s]',
];
const sets = ['[]]', '[^]]', '[a-]', '[-a]', '[%]]', '[a-%z]', '[', '[^', '[%', '[a'];
const single = fc.oneof(
  { weight: 10, arbitrary: fc.constantFrom(...singles) },
  { weight: 1, arbitrary: fc.constantFrom(...sets) },
);
const repeated = fc.tuple(single, fc.constantFrom('', '', '*', '+', '-', '?')).map((parts) => parts.join(''));
const odd = [
  '()',
  ')',
  '(',
  '%1',
  '%2',
  '%0',
  '%b()',
  '%bab',
  '%b',
  '%bx',
  '%f[%w]',
  '%f[^a]',
  '%f',
  '%fa',
  '$',
  '^',
  '%',
  '\0',
  '**',
];
const capture: fc.Arbitrary<string> = fc.array(repeated, { maxLength: 2 }).map((parts) => `(${parts.join('')})`);
const piece = fc.oneof(
  { weight: 8, arbitrary: repeated },
  { weight: 3, arbitrary: capture },
  { weight: 2, arbitrary: fc.constantFrom(...odd) },
);
const pattern = fc
  .tuple(fc.constantFrom('', '', '', '^'), fc.array(piece, { maxLength: 5 }), fc.constantFrom('', '', '', '$'))
  .map(([start, pieces, end]) => start + pieces.join('') + end);

const strangeNumber = fc.constantFrom(
  ...[0, -0, 1, -1, 0.5, -0.5, 2.5, 31, 32, 1e15, 2 ** 31, 2 ** 31 - 1, -(2 ** 31), 2 ** 32, 2 ** 52, 2 ** 53],
  ...[
    2 ** 63,
    -(2 ** 63),
    2 ** 64,
    1e300,
    -1e300,
    5e-324,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    Number.NEGATIVE_INFINITY,
  ],
);
export const number = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: -20, max: 20 }) },
  { weight: 2, arbitrary: strangeNumber },
  { weight: 2, arbitrary: fc.double() },
  { weight: 1, arbitrary: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }) },
  { weight: 1, arbitrary: fc.maxSafeInteger() },
);

const NOT_A_STRING: Value[] = [undefined, true, false];
/** Mostly the given values; sometimes a number, or a value of a type that the function refuses. */
export function mostly<T extends Value>(wanted: fc.Arbitrary<T>): fc.Arbitrary<Value> {
  return fc.oneof(
    { weight: 30, arbitrary: wanted as fc.Arbitrary<Value> },
    { weight: 1, arbitrary: number as fc.Arbitrary<Value> },
    { weight: 1, arbitrary: fc.constantFrom('12', ' 0x10 ', 'abc', '', '1e2') as fc.Arbitrary<Value> },
    {
      weight: 1,
      arbitrary: fc
        .oneof(fc.constantFrom(...NOT_A_STRING), fc.constant('table'))
        .map((value) => (value === 'table' ? new Table() : value)),
    },
  );
}

/** Calls with a random list of arguments, sometimes a few short. */
export function calls(lua: string, ours: LuaFunction, ...given: fc.Arbitrary<Value>[]): fc.Arbitrary<Call> {
  return fc
    .tuple(
      fc.tuple(...given),
      fc.oneof({ weight: 12, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(given.length) }),
    )
    .map(([list, missing]) => ({ lua, ours, given: list.slice(0, list.length - missing) }));
}

function library(name: string, ...given: fc.Arbitrary<Value>[]): fc.Arbitrary<Call> {
  return calls(`string.${name}`, string[name] as LuaFunction, ...given);
}

function optional(value: fc.Arbitrary<Value>): fc.Arbitrary<Value> {
  return fc.oneof({ weight: 2, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: value });
}

const subject = mostly(text);
const sought = mostly(pattern);
const replacement = fc.oneof(
  text,
  fc
    .array(fc.constantFrom('%0', '%1', '%2', '%9', '%', '%%', '%a', 'x', '\0'), { maxLength: 4 })
    .map((parts) => parts.join('')),
  mostly(text),
  fc.array(fc.tuple(letters, mostly(text)), { maxLength: 4 }).map((entries) => {
    const table = new Table();
    for (const [key, value] of entries) table.set(key, value);
    return table;
  }),
);

const ALL_MATCHES = `plainly(function(s, p)
  local list = {}
  for a, b, c in string.gmatch(s, p) do list[#list + 1] = {a, b, c} end
  return list
end)`;

function allMatches(given: Value, sought: Value): Value {
  const next = (string.gmatch as LuaFunction)(given, sought) as LuaFunction;
  const list: Table[] = [];
  for (;;) {
    const [a, b, c] = all(next());
    if (a === undefined) return new Table(list);
    list.push(new Table([a, b, c]));
  }
}

const REPLACED_BY_FUNCTION = `plainly(function(s, p, n)
  return string.gsub(s, p, function(...)
    if select('#', ...) == 2 then return nil end
    return '<' .. select('#', ...) .. tostring((...)) .. '>'
  end, n)
end)`;

function replacedByFunction(given: Value, sought: Value, most: Value): Value | Values {
  const replace: LuaFunction = (...list) => (list.length === 2 ? undefined : `<${list.length}${String(list[0])}>`);
  return (string.gsub as LuaFunction)(given, sought, replace, most);
}

const conversion = fc.constantFrom(...'diuoxXcqseEfgG', ...'diuoxXcqseEfgG', 'a', 'p', '', '\0', '\xff', '5', '*');
const flags = fc.array(fc.constantFrom('-', '+', ' ', '#', '0'), { maxLength: 3 }).map((list) => list.join(''));
const digits = fc.oneof(fc.constant(''), fc.nat(30).map(String), fc.constantFrom('00', '99', '100', '05'));
const precision = fc.oneof(
  fc.constant(''),
  digits.map((text) => `.${text}`),
);
const directive = fc.oneof(
  { weight: 20, arbitrary: fc.tuple(flags, digits, precision, conversion).map((parts) => `%${parts.join('')}`) },
  { weight: 1, arbitrary: fc.constantFrom('%%', '%', '%-+ #0-d', '%1000d', '%.123f', '%ld') },
);
const formatted = fc
  .array(
    fc.tuple(
      fc.constantFrom('', 'x', ' '),
      directive,
      fc.oneof(number, number, number, mostly(text), fc.constant('long\0'.repeat(30)), halves()),
    ),
    { minLength: 1, maxLength: 3 },
  )
  .map((parts) => ({
    lua: 'string.format',
    ours: string.format as LuaFunction,
    given: [parts.map(([before, each]) => before + each).join(''), ...parts.map(([, , value]) => value)],
  }));

/** Numbers that lie exactly between two that are printed. */
function halves(): fc.Arbitrary<number> {
  return fc
    .tuple(fc.integer({ min: -2000, max: 2000 }), fc.nat(12), fc.integer({ min: -4, max: 20 }))
    .map(([half, bits, zeros]) => ((half / 2 ** bits) * 10 ** Math.max(zeros, 0)) / (zeros < 0 ? 2 ** -zeros : 1));
}

export const patternCalls: fc.Arbitrary<Call> = fc.oneof(
  library('find', subject, sought, optional(number), optional(mostly(fc.boolean()))),
  library('find', text, pattern),
  library('match', subject, sought, optional(number)),
  library('match', text, pattern),
  library('gsub', subject, sought, replacement, optional(mostly(number))),
  library('gsub', text, pattern, replacement),
  fc.tuple(text, pattern).map((given) => ({ lua: ALL_MATCHES, ours: allMatches, given })),
  fc
    .tuple(text, pattern, optional(fc.integer({ min: -1, max: 3 })))
    .map((given) => ({ lua: REPLACED_BY_FUNCTION, ours: replacedByFunction, given })),
);

export const formatCalls: fc.Arbitrary<Call> = formatted;

/** Not so often that Redis takes long to make the string. */
const repetitions = fc.oneof(
  fc.integer({ min: -3, max: 300 }),
  fc.constantFrom<Value>(2 ** 31, 2 ** 32 + 2, -(2 ** 63), 2 ** 63, 0.9, Number.NaN, '3', 'x', undefined, true),
);

export const stringCalls: fc.Arbitrary<Call> = fc.oneof(
  library('len', subject),
  library('sub', subject, mostly(number), optional(mostly(number))),
  library('byte', subject, optional(mostly(number)), optional(mostly(number))),
  library('char', mostly(fc.nat(300)), mostly(fc.nat(300)), mostly(number)),
  library('lower', subject),
  library('upper', subject),
  library('reverse', subject),
  library('rep', subject, repetitions),
);
