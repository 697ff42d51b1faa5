import { describe, expect, test } from 'vitest';
import { Environment, libraryOf } from './environment.js';
import { generateCode, RUNTIME_NAMES } from './generate/generate.js';
import { parse } from './parse/parse.js';
import { compile } from './script.js';
import { brokenProgram } from './testing/broken-program.js';
import { CORPUS } from './testing/corpus.js';
import { randomProgram } from './testing/random-program.js';
import { LuaSyntaxError } from './values/errors.js';
import { Table } from './values/table.js';
import { all, type Value } from './values/value.js';

const environment = new Environment({ libraries: { string: libraryOf({ len: (text) => String(text).length }) } });

function run(source: string, keys: Value[] = []): readonly Value[] {
  return all(compile(source, { environment }).run(new Table(keys), new Table()));
}

const JAVASCRIPT_NAMES =
  'constructor __proto__ prototype toString valueOf hasOwnProperty __defineGetter__ call apply bind caller arguments name length get set hash array metatable readonly list toJSON'.split(
    ' ',
  );

describe('names that mean something in JavaScript', () => {
  test.each(JAVASCRIPT_NAMES)('a table has no field %s until it is set', (name) => {
    expect(run(`local t = {} return t.${name}, t['${name}'], rawget(t, '${name}'), #t`)).toEqual([
      undefined,
      undefined,
      undefined,
      0,
    ]);
    expect(run(`local t = {${name} = 1} t['${name}x'] = 2 return t.${name}, next({})`)).toEqual([1, undefined]);
  });

  test.each(JAVASCRIPT_NAMES)('a string, a number, a boolean and a function have no %s', (name) => {
    expect(run(`return ('x').${name} == nil, (''):len()`)).toEqual([true, 0]);
    for (const value of ['(1)', 'true', '(function() end)', 'tostring', 'pcall', 'table.insert']) {
      expect(() => run(`local v = ${value} return v.${name}`)).toThrow(/attempt to index/);
      expect(() => run(`local v = ${value} v.${name} = 1`)).toThrow(/attempt to index/);
      expect(() => run(`local v = ${value} return v:${name}()`)).toThrow(/attempt to index/);
    }
  });

  test.each(
    'this new delete typeof void null undefined eval arguments globalThis process require import class await yield let const var with L1 T1 C0 V K A G R1 runtime constants chunk running index first Table NONE'.split(
      ' ',
    ),
  )('%s is a global that is not there, and a local like any other', (name) => {
    expect(() => run(`return ${name}`)).toThrow(`nonexistent global variable '${name}'`);
    expect(() => run(`${name} = 1`)).toThrow('Attempt to modify a readonly table');
    expect(
      run(`local ${name} = 5 local function f() ${name} = ${name} + 1 return ${name} end return f(), ${name}`),
    ).toEqual([6, 6]);
    expect(run(`local function ${name}(${name}) return ${name} end return ${name}(7)`)).toEqual([7]);
    expect(
      run(
        `for ${name} = 1, 1 do return {${name} = ${name}}.${name} end`
          .replace('return {', 'return ({')
          .replace('}.', '}).'),
      ),
    ).toEqual([1]);
  });
});

describe('strings', () => {
  test.each([
    '*/ process.exit(1) /*',
    '\\"; process.exit(1); //',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: what a template would take for its own.
    '`${process.exit(1)}`',
    '\u00e2\u0080\u00a8 process.exit(1)',
    '</script><!-- -->',
    '\r\n//# sourceURL=lua:1',
    '\u0001\u0002\u0000\u007f\u0085\u00a0',
    '/*0*/',
    '\n/*0*/',
  ])('%j comes back as it is: as a value, a key, a name of a method and in messages', (text) => {
    const quoted = `'${text.replace(/[\\'\r\n\0]/g, (character) => `\\${character === '\0' ? '000' : character === '\r' ? 'r' : character === '\n' ? 'n' : character}`)}'`;
    expect(run(`return ${quoted}`)).toEqual([text]);
    expect(run(`return ({[${quoted}] = ${quoted}})[${quoted}]`)).toEqual([text]);
    expect(run(`return pcall(error, ${quoted}, 0)`)).toEqual([false, text]);
    expect(run(`-- ${text.replace(/[\r\n]/g, ' ')}\nreturn 1`)).toEqual([1]);
    expect(run('return KEYS[1]', [text])).toEqual([text]);
    expect(run(`return loadstring(${quoted}) == nil`)).toEqual([true]);
  });

  test('all bytes in all places', () => {
    const bytes = String.fromCharCode(...Array.from({ length: 256 }, (_, byte) => byte));
    const escaped = Array.from({ length: 256 }, (_, byte) => `\\${byte}`).join('');
    expect(run(`return '${escaped}', ({['${escaped}'] = 1})['${escaped}']`)).toEqual([bytes, 1]);
  });
});

describe('what scripts share', () => {
  test.each([
    'x = 1',
    '_G.x = 1',
    "rawset(_G, 'x', 1)",
    'setmetatable(_G, {})',
    'table.concat = nil',
    "rawset(table, 'concat', 1)",
    'setmetatable(table, {})',
    'table.insert(table, 1)',
    "getmetatable('').__index = 1",
    "getmetatable('').__add = 1",
    'getmetatable(_G).__index = nil',
    'for k in pairs(_G) do _G[k] = nil end',
    "loadstring('x = 1')()",
    'table.sort(_G)',
    'table.remove(_G)',
    'string.len = nil',
  ])('does not change: %s', (source) => {
    const before = [...environment.globals.hash.keys()].join();
    try {
      run(source);
    } catch (error) {
      expect(String(error)).toMatch(/readonly|attempt/i);
    }
    expect([...environment.globals.hash.keys()].join()).toBe(before);
    expect(run("return table.concat({1, 2}) .. ('abc'):len()")).toEqual(['123']);
  });

  test('one run sees nothing of another', () => {
    run('KEYS.mine = 1 ARGV.mine = 1 _G.KEYS.other = 1');
    expect(run('return KEYS.mine, ARGV.mine, _G.KEYS.other')).toEqual([undefined, undefined, undefined]);
  });
});

/** Properties of our own classes that generated code reads or calls. */
const PROPERTIES = 'array hash length get word set push step key value turns bytes slots nested interrupt'.split(' ');
const WORDS =
  'use strict const let return if else for while break new typeof true false undefined function number object'.split(
    ' ',
  );
const NAMES = new Set([...PROPERTIES, ...WORDS, ...RUNTIME_NAMES, 'runtime', 'constants', 'chunk', 'K', 'A', 'V', 'G']);

/** Names in the code that are neither the generator's nor the runtime's. */
function strangeNames(source: string): string[] {
  const { code } = generateCode(parse(source, 'x'), {
    chunkName: 'x',
    globals: environment.globals,
    hasParameters: true,
    takingWords: new Set(),
  });
  const bare = code
    .replace(/"(?:[^"\\\n]|\\.)*"/g, '')
    .replace(/\/\*\d+\*\//g, '')
    .replace(/\b\d[\d.]*(?:e[+-]?\d+)?/g, '');
  const names = bare.match(/[\p{L}_$][\p{L}\p{N}_$]*/gu) ?? [];
  const others = bare.match(/[`\\@#]/g) ?? [];
  return [...names.filter((name) => !NAMES.has(name) && !/^[LTCIMSFR]\d*$/.test(name)), ...others];
}

describe('generated code', () => {
  test('names nothing but its own variables and the runtime', () => {
    const sources = [...Object.values(CORPUS).flat(), ...Array.from({ length: 150 }, (_, seed) => randomProgram(seed))];
    for (let seed = 0; seed < 150; seed++) sources.push(brokenProgram(seed));
    let looked = 0;
    for (const source of sources) {
      try {
        expect([source, strangeNames(source)]).toEqual([source, []]);
        looked++;
      } catch (error) {
        if (!(error instanceof LuaSyntaxError)) throw error;
      }
    }
    expect(looked).toBeGreaterThan(300);
  });
});
