import fc from 'fast-check';
import type { Words } from './words.js';

/**
 * Random scripts as limiters write them: words of KEYS and ARGV, directly, under other names, in functions and loops,
 * changed and passed on as tables, on their way into commands.
 */

const PLACES = ['1', '2', '3', '0', 'i'];
const place = fc.constantFrom(...PLACES);
const word = fc.tuple(fc.constantFrom('KEYS', 'ARGV'), place).map(([name, at]) => `${name}[${at}]`);
const local = fc.constantFrom('a', 'b', 'c');
const constant = fc.constantFrom('1', '-2', '3.5', "'7'", "'x'", "''", 'nil', 'true', '2^53');
const length = fc.constantFrom('#KEYS', '#ARGV', '#KEYS[1]', '#(ARGV)');

const { expression, command } = fc.letrec<{ expression: string; command: string }>((tie) => ({
  expression: fc.oneof(
    { maxDepth: 2, depthSize: 'small' },
    { weight: 5, arbitrary: word },
    { weight: 4, arbitrary: local },
    { weight: 2, arbitrary: constant },
    { weight: 1, arbitrary: length },
    { weight: 2, arbitrary: tie('command') },
    {
      weight: 2,
      arbitrary: fc
        .tuple(tie('expression'), fc.constantFrom('..', '+', '==', 'and', 'or'), tie('expression'))
        .map(([left, operator, right]) => `(${left} ${operator} ${right})`),
    },
    { weight: 1, arbitrary: tie('expression').map((value) => `tonumber(${value})`) },
    { weight: 1, arbitrary: tie('expression').map((value) => `(function() return ${value} end)()`) },
  ),
  command: fc
    .tuple(
      fc.constantFrom('call', 'pcall', 'pcall'),
      fc.constantFrom('get', 'INCR', 'incrby', 'mget', 'del', 'exists', 'echo', 'type', 'getdel', 'strlen'),
      fc.array(tie('expression'), { minLength: 1, maxLength: 3 }),
    )
    .map(([how, name, values]) => `redis.${how}('${name}',${values.join(',')})`),
}));

const { block } = fc.letrec<{ statement: string; block: string }>((tie) => ({
  statement: fc.oneof(
    { maxDepth: 2, depthSize: 'small' },
    { weight: 4, arbitrary: fc.tuple(local, expression).map(([name, value]) => `local ${name}=${value}`) },
    { weight: 2, arbitrary: fc.tuple(local, word).map(([name, value]) => `local ${name}=${value}`) },
    { weight: 2, arbitrary: fc.tuple(local, expression).map(([name, value]) => `${name}=${value}`) },
    { weight: 4, arbitrary: command },
    { weight: 1, arbitrary: fc.tuple(word, expression).map(([target, value]) => `${target}=${value}`) },
    // An integer: other values are refused here.
    { weight: 2, arbitrary: expression.map((key) => `redis.call('set',${key},7,'EX',100)`) },
    { weight: 1, arbitrary: local.map((name) => `local ${name}=KEYS`) },
    { weight: 1, arbitrary: fc.constant("redis.pcall('mget',unpack(KEYS))") },
    { weight: 1, arbitrary: fc.tuple(expression, tie('block')).map(([test, body]) => `if ${test} then ${body} end`) },
    { weight: 1, arbitrary: tie('block').map((body) => `for i=1,2 do ${body} end`) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(local, tie('block'))
        .map(([name, body]) => `local function f(${name}) ${body} end f(KEYS[2])`),
    },
  ),
  block: fc.array(tie('statement'), { minLength: 1, maxLength: 5 }).map((statements) => statements.join('\n')),
}));

/** The values of the locals in the end, of any type. */
const CONCLUSION = `
local r={} for n,v in ipairs({tostring(type(a)=='table' or a),tostring(type(b)=='table' or b),tostring(type(c)=='table' or c)})
do r[n]=v end return r`;

const value = fc.constantFrom('5', 'text', '', '12.5', '-1', 'w:1');

export const arbitraryScriptCall: fc.Arbitrary<Words> = fc
  .tuple(
    block,
    fc.array(fc.constantFrom('w:1', 'w:2', 'a rather long key', '7'), { maxLength: 4 }),
    fc.array(value, { maxLength: 4 }),
  )
  .map(([body, keys, argv]) => [
    'EVAL',
    `local a,b,c,i=1,'2',nil,1\n${body}${CONCLUSION}`,
    String(keys.length),
    ...keys,
    ...argv,
  ]);
