import { expect, test } from 'vitest';
import { Environment, libraryOf } from './environment.js';
import { compile } from './script.js';
import { Table } from './values/table.js';
import { all, type Value } from './values/value.js';
import type { Words } from './values/words.js';

/** Words that write down what a script made of them. */
class WatchedWords implements Words {
  readonly made: string[] = [];
  readonly #texts: readonly string[];

  constructor(...texts: string[]) {
    this.#texts = texts;
  }

  get length(): number {
    return this.#texts.length;
  }

  get(place: Value): Value {
    this.made.push(`get ${String(place)}`);
    return this.#texts[Number(place) - 1];
  }

  word(place: Value): unknown {
    this.made.push(`word ${String(place)}`);
    return Symbol.for(this.#texts[Number(place) - 1] ?? 'none');
  }

  table(): Table {
    this.made.push('table');
    return new Table([...this.#texts]);
  }
}

const call = (...values: Value[]): Value => values.map((value) => (typeof value === 'symbol' ? 'w' : 's')).join('');
const environment = new Environment({ libraries: { redis: libraryOf({ call }) }, takingWords: new Set<Value>([call]) });

function run(source: string): { made: string[]; results: readonly Value[] } {
  const keys = new WatchedWords('a', 'b');
  const results = all(compile(source, { environment }).run(keys, new Table(['1'])));
  return { made: keys.made, results };
}

test.each([
  ["return redis.call('get', KEYS[1])", ['word 1'], ['sw']],
  ["local key = KEYS[2] return redis.call('get', key, key)", ['word 2', 'word 2'], ['sww']],
  ["local key = KEYS[1] return redis.call('get', key .. 'x')", ['get 1'], ['ss']],
  ["local key = KEYS[1] key = 'x' return redis.call('get', key)", ['get 1'], ['ss']],
  ["local n = 0 for i = 1, #KEYS do redis.call('get', KEYS[i]) n = n + 1 end return n", ['word 1', 'word 2'], [2]],
  ['return redis.call(KEYS[1], KEYS[1])', ['get 1', 'word 1'], ['sw']],
  ["return pcall(redis.call, 'get', KEYS[1])", ['get 1'], [true, 'ss']],
  ["return redis.call('get', KEYS[1], (KEYS[2]))", ['word 1', 'get 2'], ['sws']],
  ['return 1', [], [1]],
])('a script makes of KEYS only what it reads: %s', (source, made, results) => {
  expect(run(source)).toEqual({ made, results });
});

test.each([
  "return redis.call('get', unpack(KEYS))",
  'KEYS[1] = 5 return KEYS[1]',
  'local k = KEYS return k[1]',
  'return _G.KEYS[1], KEYS[1]',
  "return loadstring('return KEYS[1]')(), KEYS[1]",
  'return (function() KEYS[3] = 1 return KEYS[1] end)()',
])('a script that does more with KEYS gets a table: %s', (source) => {
  const { made } = run(source);
  expect(new Set(made)).toEqual(new Set(['table']));
});
