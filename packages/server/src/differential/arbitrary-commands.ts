import fc from 'fast-check';
import { isComparable } from './differences.js';
import type { Words } from './words.js';
import { expiryArguments } from './words.js';

/**
 * Random commands: well-formed ones in every combination of their options, and the same after something was done to
 * them. Few keys, so that commands meet; numbers at the edges of 64 bits; times so far off that nothing expires while
 * the two servers are being compared.
 */

const KEYS = ['a', 'b', 'key:1', 'key:2', '', '\x00\xff\r\n', 'long'.repeat(50)];
const key = fc.constantFrom(...KEYS);

const INT64_EDGES = [
  '9223372036854775807',
  '9223372036854775806',
  '-9223372036854775808',
  '-9223372036854775807',
  '4611686018427387904',
  '9007199254740993',
  '-9007199254740993',
  '4294967296',
  '4294967295',
  '-4294967296',
  '2147483648',
];
const integer = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: -10, max: 10 }).map(String) },
  { weight: 1, arbitrary: fc.constantFrom(...INT64_EDGES) },
  { weight: 1, arbitrary: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String) },
);
const NO_INTEGERS = [
  '',
  ' ',
  '1 ',
  ' 1',
  '+1',
  '-0',
  '00',
  '01',
  '-',
  '1.0',
  '1e3',
  '0x10',
  'abc',
  '1\x00',
  '9223372036854775808',
  '-9223372036854775809',
  '18446744073709551616',
  '99999999999999999999999999',
];
const notAnInteger = fc.constantFrom(...NO_INTEGERS);
const amount = fc.oneof({ weight: 8, arbitrary: integer }, { weight: 1, arbitrary: notAnInteger });

/** Relative times are drawn evenly, so that no two are near enough for GT and LT to hang on a millisecond. */
const seconds = fc.noBias(fc.integer({ min: 1_000_000, max: 1_000_000_000 })).map(String);
const milliseconds = fc.noBias(fc.integer({ min: 1_000_000_000, max: 1_000_000_000_000 })).map(String);
/** Absolute ones come from few, so that equal ones meet. The last lies in the past. */
const unixSeconds = fc.constantFrom('5000000000', '6000000000', '7000000000', '1');
const unixMilliseconds = fc.constantFrom('5000000000000', '6000000000001', '7000000000500', '1');
const strangeTime = fc.oneof(
  fc.constantFrom('0', '-1', '-100', '-9223372036854775', '-9223372036854776', '9223372036854776', ...INT64_EDGES),
  notAnInteger,
);
function sometimesStrange(time: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc.oneof({ weight: 6, arbitrary: time }, { weight: 1, arbitrary: strangeTime });
}

const expiryOption = fc.oneof(
  fc.tuple(fc.constantFrom('EX', 'ex'), sometimesStrange(seconds)),
  fc.tuple(fc.constantFrom('PX', 'Px'), sometimesStrange(milliseconds)),
  fc.tuple(fc.constant('EXAT'), sometimesStrange(unixSeconds)),
  fc.tuple(fc.constant('PXAT'), sometimesStrange(unixMilliseconds)),
);

function flag(...words: string[]): fc.Arbitrary<string[]> {
  return fc.constantFrom(...words).map((word) => [word]);
}

/** Up to `maxLength` options, in any order, repeated or contradicting each other. */
function options(maxLength: number, ...kinds: fc.Arbitrary<string[]>[]): fc.Arbitrary<string[]> {
  return fc.array(fc.oneof(...kinds), { maxLength }).map((chosen) => chosen.flat());
}

function command(name: string, ...parts: fc.Arbitrary<string | string[]>[]): fc.Arbitrary<string[]> {
  return fc.tuple(...parts).map((values) => [name, ...values.flat()]);
}

const someKeys = fc.array(key, { minLength: 1, maxLength: 4 });
const setOptions = options(
  4,
  flag('NX', 'nx'),
  flag('XX'),
  flag('GET', 'get'),
  flag('KEEPTTL'),
  flag('PERSIST'),
  expiryOption,
  expiryOption,
);
const getexOptions = options(2, flag('PERSIST', 'persist'), flag('KEEPTTL'), expiryOption, expiryOption, expiryOption);
const conditions = options(3, flag('NX'), flag('XX', 'xx'), flag('GT', 'gt'), flag('LT'), flag('nonsense', 'N X', ''));
const pairs = fc.array(fc.tuple(key, integer), { minLength: 1, maxLength: 4 }).map((chosen) => chosen.flat());

/** Pieces of patterns, put together at random. */
const pattern = fc
  .array(
    fc.constantFrom(
      '*',
      '?',
      'a',
      'b',
      'key',
      ':',
      '1',
      '2',
      'long',
      '[',
      ']',
      '^',
      '-',
      '\\',
      '[a-k]',
      '[^a]',
      '[12]',
      '\\*',
      '',
    ),
    { maxLength: 6 },
  )
  .map((pieces) => pieces.join(''));

/** More than there are keys, so that one call reaches the end on either server. */
const scanOption = fc.oneof(
  fc.tuple(fc.constantFrom('MATCH', 'match'), pattern),
  fc.tuple(fc.constantFrom('COUNT', 'count'), fc.constantFrom('1000', '0', '-1', 'abc', '100000', '01')),
  fc.tuple(fc.constantFrom('TYPE', 'type'), fc.constantFrom('string', 'STRING', 'hash', 'nonsense')),
  fc.tuple(fc.constantFrom('LIMIT', ''), fc.constant('5')),
);
const cursor = fc.oneof(
  { weight: 5, arbitrary: fc.constant('0') },
  { weight: 1, arbitrary: fc.constantFrom('', '+0', '-0', '000', 'abc', '1x', '-', '+', ' 0', '18446744073709551616') },
);

/** Both servers of the comparison have sixteen. */
const database = fc.constantFrom('0', '0', '1', '2', '15', '16', '-1', '-2147483649', 'abc', '');

const wellFormed: fc.Arbitrary<string[]> = fc.oneof(
  command('INCR', key),
  command('DECR', key),
  command('INCRBY', key, amount),
  command('DECRBY', key, amount),
  command('GET', key),
  command('MGET', someKeys),
  command('SET', key, integer, setOptions),
  command('SET', key, integer, setOptions),
  command('SETEX', key, sometimesStrange(seconds), integer),
  command('PSETEX', key, sometimesStrange(milliseconds), integer),
  command('SETNX', key, integer),
  command('GETSET', key, integer),
  command('GETDEL', key),
  command('GETEX', key, getexOptions),
  command('MSET', pairs),
  command('MSETNX', pairs),
  command('DEL', someKeys),
  command('UNLINK', someKeys),
  command('EXISTS', someKeys),
  command('TOUCH', someKeys),
  command('TYPE', key),
  command('DBSIZE'),
  command('RANDOMKEY'),
  command('KEYS', pattern),
  command('SCAN', cursor, fc.constant(['COUNT', '1000']), options(2, scanOption)),
  command('EXPIRE', key, sometimesStrange(seconds), conditions),
  command('PEXPIRE', key, sometimesStrange(milliseconds), conditions),
  command('EXPIREAT', key, sometimesStrange(unixSeconds), conditions),
  command('PEXPIREAT', key, sometimesStrange(unixMilliseconds), conditions),
  command('TTL', key),
  command('PTTL', key),
  command('EXPIRETIME', key),
  command('PEXPIRETIME', key),
  command('PERSIST', key),
  command('RENAME', key, key),
  command('RENAMENX', key, key),
  command('COPY', key, key, options(2, flag('REPLACE', 'replace'), fc.tuple(fc.constantFrom('DB', 'db'), database))),
  command('MOVE', key, database),
  command('STRLEN', key),
  command('OBJECT', fc.constantFrom('ENCODING', 'FREQ', 'encoding', 'nonsense', 'HELP'), key),
);

/** EXEC more often than MULTI, or most commands would only ever be queued. */
const rare: fc.Arbitrary<string[]> = fc.oneof(
  { weight: 1, arbitrary: command('FLUSHALL', options(2, flag('ASYNC'), flag('sync'), flag('nonsense'))) },
  { weight: 1, arbitrary: command('FLUSHDB', options(1, flag('ASYNC'), flag('sync'))) },
  { weight: 2, arbitrary: command('SELECT', fc.constantFrom('0', '0', '1', '2', '15', 'abc')) },
  { weight: 2, arbitrary: command('MULTI') },
  { weight: 4, arbitrary: command('EXEC') },
  { weight: 1, arbitrary: command('DISCARD') },
  {
    weight: 1,
    arbitrary: command('', fc.constantFrom('MULTI', 'EXEC', 'DISCARD'), key).map((words) => words.slice(1)),
  },
  { weight: 1, arbitrary: command('NOSUCHCOMMAND', fc.array(key, { maxLength: 2 })) },
);

/** Changes that break a command: a word too few, one too many, one in the wrong place, another case. */
const mangled = fc
  .tuple(
    wellFormed,
    fc.constantFrom('drop', 'add', 'double', 'replace', 'swap', 'case'),
    fc.nat(),
    fc.oneof(amount, key),
  )
  .map(([words, what, position, word]) => {
    const at = 1 + (position % Math.max(1, words.length - 1));
    switch (what) {
      case 'drop':
        return words.toSpliced(at, 1);
      case 'add':
        return words.toSpliced(at, 0, word);
      case 'double':
        return at < words.length ? words.toSpliced(at, 0, words[at]) : words;
      case 'replace':
        return at < words.length ? words.with(at, word) : words;
      case 'swap':
        return at + 1 < words.length ? words.with(at, words[at + 1]).with(at + 1, words[at]) : words;
      default:
        return words.map((each) => each.toLowerCase());
    }
  });

/** Whether the reply cannot depend on the moment: nothing expires soon, and a SCAN starts at the start and sees all. */
function isSteady(words: Words): boolean {
  const name = words[0].toLowerCase();
  if (name === 'scan') return isSteadyScan(words);
  return expiryArguments(words).every(({ amount: time, unitMs, fromNow }) => {
    const milliseconds = time * BigInt(unitMs);
    if (milliseconds <= 0n) return true;
    if (fromNow) return milliseconds >= 1_000_000_000n;
    if (milliseconds >= 5_000_000_000_000n) return true;
    // Redis keeps, and counts, a key that SET made already expired until it comes across it.
    return milliseconds <= 1_000_000n && name !== 'set';
  });
}

function isSteadyScan(words: Words): boolean {
  const startsAtStart = words[1] === undefined || !/^[+-]?[0-9]*[1-9][0-9]*$/.test(words[1]);
  const count = words.findLastIndex((word, index) => index > 1 && word.toLowerCase() === 'count');
  return startsAtStart && count > 0 && !/^[1-9][0-9]{0,2}$/.test(words[count + 1] ?? '');
}

export const arbitraryCommand: fc.Arbitrary<Words> = fc
  .oneof({ weight: 12, arbitrary: wellFormed }, { weight: 3, arbitrary: mangled }, { weight: 1, arbitrary: rare })
  .filter((words) => isComparable(words) && isSteady(words));

/** Reads the whole state of each key, so that no difference between the two stores goes unseen. */
export const inspection: readonly Words[] = [
  ['DISCARD'],
  ...['1', '2', '15', '0'].flatMap((number) => [
    ['SELECT', number],
    ['KEYS', '*'],
    ['DBSIZE'],
    ...KEYS.flatMap((name) => [
      ['GET', name],
      ['PEXPIRETIME', name],
    ]),
  ]),
];
