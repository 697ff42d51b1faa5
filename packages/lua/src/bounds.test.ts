import { describe, expect, test } from 'vitest';
import { SOURCE_BYTES_MAX } from './compile.js';
import { Environment, libraryOf } from './environment.js';
import { compile } from './script.js';
import { LuaError, LuaSyntaxError, ScriptAborted } from './values/errors.js';
import { TURNS_BETWEEN_INTERRUPTS } from './values/running.js';
import { Table } from './values/table.js';
import { all, type Value } from './values/value.js';

const MEGABYTE = 1024 * 1024;

function run(
  source: string,
  environment = new Environment({ bounds: { memoryBytes: 8 * MEGABYTE } }),
): readonly Value[] {
  return all(compile(source, { environment }).run(new Table(), new Table()));
}

describe('memory', () => {
  test.each([
    ['a string that doubles', "local s = 'x' while true do s = s .. s end"],
    ['a string that grows', "local s = '' for i = 1, 1e9 do s = s .. 'abcdefgh' end"],
    ['an array', 'local t = {} for i = 1, 1e9 do t[i] = i end'],
    ['a hash', "local t = {} for i = 1, 1e9 do t['k' .. i] = i end"],
    ['tables in tables', 'local t = {} while true do t = {t} end'],
    ['closures', 'local f while true do local g = f f = function() return g end end'],
    [
      'varargs kept',
      'local function f(...) return {...} end local t = {} while true do t[#t + 1] = f(1, 2, 3, 4, 5) end',
    ],
    ['constructors', 'local t while true do t = {t, t, t, t, x = t} end'],
    ['table.concat', "local t = {} for i = 1, 1000 do t[i] = 'abcdefgh' end while true do t[1] = table.concat(t) end"],
    ['table.insert', 'local t = {} while true do table.insert(t, 1) end'],
    ['loadstring', "local s = 'return 1' while true do loadstring(s) end"],
    ['load', "load(function() return 'x = 1 ' end)"],
    ['pcall does not catch it', "while true do pcall(function() local s = 'x' while true do s = s .. s end end) end"],
  ])('is bounded: %s', (_, source) => {
    expect(() => run(source)).toThrow(ScriptAborted);
  });

  test('is counted for each run alone', () => {
    const environment = new Environment({ bounds: { memoryBytes: MEGABYTE } });
    const source = 'local t = {} for i = 1, 10000 do t[i] = i end return #t';
    for (let time = 0; time < 20; time++) expect(run(source, environment)).toEqual([10_000]);
  });
});

describe('the stack', () => {
  test.each([
    ['a function that calls itself', 'local function f() return 1 + f() end f()'],
    ['calls at the end of functions', 'local function f() return f() end f()'],
    ['two functions', 'local g local function f() return (g()) end g = function() return (f()) end f()'],
    ['metamethods', 'local t = {} setmetatable(t, {__index = function(t, k) return t[k + 1] end}) return t[1]'],
    ['__call', 'local t = {} setmetatable(t, {__call = function(self) return (self()) end}) t()'],
    [
      'many arguments',
      'local a = {} for i = 1, 5000 do a[i] = i end local function f(...) return (f(...)) end f(unpack(a))',
    ],
    ['table.sort', 'local function f() table.sort({1, 2, 3}, function() f() end) end f()'],
    ['tostring', 'local t t = setmetatable({}, {__tostring = function() return tostring(t) end}) tostring(t)'],
    [
      '__eq',
      'local mt = {} mt.__eq = function(a, b) return setmetatable({}, mt) == setmetatable({}, mt) end return setmetatable({}, mt) == setmetatable({}, mt)',
    ],
    ['__concat', "local t t = setmetatable({}, {__concat = function() return t .. 'x' end}) return t .. 'x'"],
  ])('is bounded: %s', (_, source) => {
    expect(() => run(source)).toThrow(/stack overflow/);
    expect(run(`return pcall(function() ${source} end)`)[0]).toBe(false);
  });

  test('leaves room for what a script calls, at its deepest', () => {
    let calls = 0;
    const deep = (levels: number): number => (levels === 0 ? ++calls : deep(levels - 1) + 0);
    const host = libraryOf({ call: () => deep(500) });
    const environment = new Environment({ libraries: { host } });
    expect(() => run('local function f(a, b, c) host.call() return 1 + f(a, b, c) end f()', environment)).toThrow(
      LuaError,
    );
    expect(calls).toBeGreaterThan(100);
  });

  test('is given back after errors', () => {
    const source = `local function f(n) if n == 0 then error('x') end return 1 + f(n - 1) end
      for i = 1, 2000 do pcall(f, 100) end return 'done'`;
    expect(run(source)).toEqual(['done']);
  });
});

describe('time', () => {
  test.each([
    ['while', 'while true do end'],
    ['repeat', 'repeat until false'],
    ['for', 'for i = 1, 1e300 do end'],
    ['for with a step of 0', 'for i = 2, 1, 0 do end'],
    ['for in', 'for i in function() return 1 end do end'],
    ['calls', 'local function f(n) if n == 0 then return 0 end return f(n - 1) + f(n - 1) end f(60)'],
    ['pcall', 'while true do pcall(function() while true do end end) end'],
    ['xpcall', 'while true do xpcall(function() while true do end end, function() while true do end end) end'],
    [
      'sort',
      'local t = {} for i = 1, 1e5 do t[i] = i % 7 end while true do table.sort(t, function(a, b) return a > b end) end',
    ],
    [
      'table.insert at the front',
      'local t = {} for i = 1, 3e4 do t[i] = i end while true do table.insert(t, 1, 1) table.remove(t, 1) end',
    ],
    ['table.concat of nothing', 'while true do table.concat({}, "", 1, 0) end'],
  ])('the interrupt can end %s', (_, source) => {
    class Ended extends Error {}
    let turns = 0;
    const interrupt = () => {
      if (++turns > 50) throw new Ended();
    };
    expect(() => run(source, new Environment({ interrupt }))).toThrow(Ended);
  });

  test('interrupts come once in so many turns', () => {
    let interrupts = 0;
    const environment = new Environment({ interrupt: () => void interrupts++ });
    run('for i = 1, 100000 do end', environment);
    expect(interrupts).toBe(Math.floor(100_000 / (TURNS_BETWEEN_INTERRUPTS + 1)));
  });
});

describe('the source', () => {
  test('has a greatest size', () => {
    expect(() => run(`--${'x'.repeat(SOURCE_BYTES_MAX)}`)).toThrow(LuaSyntaxError);
  });

  test.each([
    ['parentheses', `return ${'('.repeat(100_000)}`],
    ['tables', `return ${'{'.repeat(100_000)}`],
    ['blocks', 'do '.repeat(100_000)],
    ['functions', 'return function() '.repeat(50_000)],
    ['indices', `return a${'[a'.repeat(100_000)}`],
    ['powers', `return 1${'^1'.repeat(100_000)}`],
    ['negations', `return ${'not '.repeat(100_000)}1`],
    ['targets', `${'a,'.repeat(100_000)}a = 1`],
  ])('is not nested without end: %s', (_, source) => {
    expect(() => run(source)).toThrow(LuaSyntaxError);
  });

  test.each([
    ['a long sum', `return ${'1+'.repeat(50_000)}KEYS`],
    ['a long chain of fields', `return KEYS${'.a'.repeat(50_000)}`],
    ['a long chain of calls', `return KEYS${'()'.repeat(50_000)}`],
    ['a long chain of choices', `return ${'KEYS or '.repeat(20_000)}1`],
    ['a long list', `return {${'KEYS,'.repeat(100_000)}}`],
    ['many arguments', `return select('#', ${'KEYS,'.repeat(100_000)} 1)`],
    ['a long elseif', `if nil then ${'elseif nil then '.repeat(20_000)} end`],
    ['many statements', 'local a = 1 a = a + 1 '.repeat(190)],
    ['a long string', `return '${'x'.repeat(900_000)}'`],
  ])('is compiled and run, or refused, but does not crash: %s', (_, source) => {
    try {
      run(source);
    } catch (error) {
      const isKnown = error instanceof LuaError || error instanceof LuaSyntaxError || error instanceof ScriptAborted;
      expect(isKnown ? 'refused' : error).toBe('refused');
    }
  });
});
