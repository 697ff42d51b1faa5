import { describe, expect, test } from 'vitest';
import { Environment, libraryOf } from '../environment.js';
import { compile } from '../script.js';
import { LuaError, ScriptAborted } from '../values/errors.js';
import { running } from '../values/running.js';
import { Table } from '../values/table.js';
import { all, first, type LuaFunction, type Value } from '../values/value.js';
import { JSON_NULL } from './cjson/null.js';

const BOUNDS = { memoryBytes: 16 * 1024 * 1024, stackBytes: 400 * 1024 };
/** Each after a thousand turns, or one long step. */
const INTERRUPTS_AT_MOST = 300;

function interruptAfter(most: number): () => void {
  let interrupts = 0;
  return () => {
    if (++interrupts > most) throw new ScriptAborted('interrupt');
  };
}

/** A string that the script gets costs it nothing, so it can be long. */
const LONG = 'a'.repeat(200_000);

function hostileValues(): Value[] {
  const circular = new Table();
  circular.set('self', circular);
  const sparse = new Table();
  sparse.set(2 ** 31 - 1, 1);
  return [
    ...[undefined, true, JSON_NULL, circular, sparse, (() => circular) as LuaFunction],
    ...[0, -1, 0.5, 256, 2 ** 31, 2 ** 31 - 1, 2 ** 53, 2 ** 63, -1e300, Number.NaN, Number.POSITIVE_INFINITY],
    ...['', '%', '[', '(()', '.-.-.-b', '%99.99f', '%s%s', '\0', '\xff\xfe', '__proto__', '[{"a":', '"\\u'],
    ...['\xdd\xff\xff\xff\xff', 'c2147483647', 'i32'.repeat(100), LONG],
  ];
}

function functionsOf(library: Table): [string, LuaFunction][] {
  return [...library.hash].filter((entry): entry is [string, LuaFunction] => typeof entry[1] === 'function');
}

/** What a script may see: no object of JavaScript, and no character that is not a byte. */
function isLuaValue(value: Value): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: all bytes
  if (typeof value === 'string') return value.length > 10_000 || /^[\x00-\xff]*$/.test(value);
  if (typeof value === 'object') return value instanceof Table;
  return ['undefined', 'boolean', 'number', 'symbol', 'function'].includes(typeof value);
}

/** The results, or why there are none. Anything that a library throws beside these two errors is a way out of Lua. */
function attempt(target: LuaFunction, given: readonly Value[]): readonly Value[] | LuaError | ScriptAborted {
  running.start(BOUNDS, undefined, interruptAfter(INTERRUPTS_AT_MOST));
  try {
    return all(target(...given));
  } catch (error) {
    if (error instanceof LuaError || error instanceof ScriptAborted) return error;
    throw error;
  } finally {
    running.stop();
  }
}

describe.each(['string', 'bit', 'cjson', 'cmsgpack', 'struct'])('every function of %s', (name) => {
  const library = new Environment().globals.get(name) as Table;
  const values = hostileValues();

  test.each(functionsOf(library))('%s gives Lua values or a Lua error, whatever it is given', (_, target) => {
    const lists: Value[][] = [[]];
    for (const one of values) {
      lists.push([one]);
      for (const two of values) lists.push(target.length < 3 ? [one, two] : ['aXa', one, two]);
    }
    for (const given of lists) {
      const outcome = attempt(target, given);
      if (outcome instanceof LuaError) expect(typeof outcome.value).toBe('string');
      else if (!(outcome instanceof ScriptAborted)) expect(outcome.every(isLuaValue)).toBe(true);
    }
  });
});

function run(source: string, interrupt = interruptAfter(INTERRUPTS_AT_MOST)): string {
  const environment = new Environment({ interrupt, bounds: BOUNDS, libraries: { LONG: LONG, test: libraryOf({}) } });
  try {
    return String(first(compile(source, { environment }).run(new Table(), new Table())));
  } catch (error) {
    if (error instanceof ScriptAborted) return `aborted: ${error.reason}`;
    if (error instanceof LuaError) return String(error.value);
    throw error;
  }
}

describe('a script that asks for too much', () => {
  test.each([
    ['a pattern that goes back for ever', `return string.find(LONG, ('a*'):rep(20) .. 'b')`],
    ['… with the shortest first', `return string.match(LONG, ('.-'):rep(20) .. 'b')`],
    ['… with a set as long as a subject', `return string.find(LONG, '[^' .. ('b'):rep(100000) .. ']*c')`],
    ['… with balanced brackets', `return string.gsub(LONG, '%bab', '')`],
    ['… that is found often', `return string.gsub(LONG, 'a-a-a-a-a-b', '')`],
    ['… in a loop', `for _ in string.gmatch(LONG, 'a*a*a*b') do end`],
    ['a long text in another', `return string.find(LONG, ('a'):rep(100000) .. 'b', 1, true)`],
    ['an array of nulls', `local j = cjson.new() j.encode_sparse_array(true, 0) return j.encode({[2^31-1] = 1})`],
  ])('is interrupted: %s', (_, source) => {
    expect(run(source)).toMatch(/^aborted: (interrupt|memory)$/);
  });

  test.each([
    ['rep', `return string.rep('x', 2^31 - 1)`],
    ['rep of rep', `local s = 'x' for _ = 1, 40 do s = s:rep(2) end return #s`],
    ['gsub that makes each byte long', `return string.gsub(LONG, 'a', LONG)`],
    ['gsub with a long capture', `return string.gsub(LONG, '(a+)', ('%1'):rep(1000))`],
    ['gsub by a function', `return string.gsub(LONG, 'a', function() return LONG end)`],
    ['gsub by a table', `return string.gsub(LONG, 'a', {a = LONG})`],
    ['format', `local t = {} for i = 1, 1000 do t[i] = LONG end return string.format(('%s'):rep(1000), unpack(t))`],
    ['quoting', `return string.format('%q', ('"'):rep(8000000))`],
    ['encoding', `local t = {} for i = 1, 1000 do t[i] = LONG end return cjson.encode(t)`],
    ['escapes', `return cjson.encode(('"'):rep(8000000))`],
    ['packing', `local t = {} for i = 1, 1000 do t[i] = LONG end return cmsgpack.pack(t)`],
    ['structures', `local t = {} for i = 1, 1000 do t[i] = LONG end return struct.pack(('s'):rep(1000), unpack(t))`],
    ['reversing', `local s = ('x'):rep(8000000) return s:reverse() .. s:lower() .. s:upper()`],
  ])('is ended by the bound of its memory: %s', (_, source) => {
    expect(run(source, () => {})).toBe('aborted: memory');
  });

  test.each([
    [`return string.find(LONG, ('a?'):rep(250))`, 'pattern too complex'],
    [`return string.find(LONG, ('(a)'):rep(40))`, 'too many captures'],
    [
      `local t = {} for _ = 1, 100000 do t = {t} end local j = cjson.new() j.encode_max_depth(2^30) return j.encode(t)`,
      'excessive nesting (7998)',
    ],
    [
      `local j = cjson.new() j.decode_max_depth(2^30) return j.decode(('['):rep(100000))`,
      'too many nested data structures (7999)',
    ],
    [`return cmsgpack.unpack(('\\145'):rep(100000))`, 'stack overflow'],
    [`return struct.unpack(('b'):rep(10000), LONG)`, 'stack overflow (too many results)'],
    [`return string.byte(LONG, 1, -1)`, 'stack overflow (string slice too long)'],
  ])('gets an error: %s', (source, message) => {
    expect(run(source)).toContain(message);
  });

  test('a search can be ended inside a search that it calls', () => {
    expect(run(`return string.gsub('xx', 'x', function() return (string.find(LONG, ('a*'):rep(9) .. 'b')) end)`)).toBe(
      'aborted: interrupt',
    );
  });
});
