import type { Words } from './words.js';

/**
 * Every combination of options, on every state of a key: what random commands may take long to come across. Each case
 * is a short sequence that begins with no keys.
 */

const KEY = 'key';

/** The states of a key before the command: missing, without expiry, with one. */
const STATES: readonly (readonly Words[])[] = [[], [['SET', KEY, '7']], [['SET', KEY, '7', 'PXAT', '6000000000000']]];

const LOOK: readonly Words[] = [
  ['GET', KEY],
  ['PEXPIRETIME', KEY],
];

/** All sequences of up to `maxLength` of the options, repetitions included. */
function sequences(options: readonly Words[], maxLength: number): Words[] {
  if (maxLength === 0) return [[]];
  const shorter = sequences(options, maxLength - 1);
  return [[], ...options.flatMap((option) => shorter.map((words) => [...option, ...words]))];
}

function onEveryState(commands: readonly Words[]): Words[] {
  return STATES.flatMap((state) => commands.flatMap((command) => [['FLUSHALL'], ...state, command, ...LOOK]));
}

const FUTURE: readonly Words[] = [
  ['EX', '1000000'],
  ['PX', '2000000000'],
  ['EXAT', '5000000000'],
  ['PXAT', '7000000000000'],
];
const PAST: readonly Words[] = [
  ['EXAT', '1'],
  ['PXAT', '1'],
];
const REFUSED_TIMES = [
  '0',
  '-1',
  'abc',
  '',
  '1.5',
  '9223372036854775807',
  '9223372036854775808',
  '-9223372036854775808',
];

const setOptions: readonly Words[] = [['NX'], ['XX'], ['GET'], ['KEEPTTL'], ['PERSIST'], ...FUTURE];

export const setCombinations: readonly Words[] = onEveryState([
  ...sequences(setOptions, 3).map((options) => ['SET', KEY, '-42', ...options]),
  ...PAST.map((time) => ['SET', KEY, '5', ...time]),
  ...['EX', 'PX', 'EXAT', 'PXAT'].flatMap((unit) => [
    ['SET', KEY, '5', unit],
    ...REFUSED_TIMES.filter((time) => unit !== 'PXAT' || time !== '9223372036854775807').map((time) => [
      'SET',
      KEY,
      '5',
      unit,
      time,
    ]),
  ]),
]);

export const getexCombinations: readonly Words[] = onEveryState([
  ...sequences([['PERSIST'], ['KEEPTTL'], ['NX'], ...FUTURE], 2).map((options) => ['GETEX', KEY, ...options]),
  ...PAST.map((time) => ['GETEX', KEY, ...time]),
  ...['EX', 'PX', 'EXAT', 'PXAT'].flatMap((unit) => [
    ['GETEX', KEY, unit],
    ...REFUSED_TIMES.filter((time) => unit !== 'PXAT' || time !== '9223372036854775807').map((time) => [
      'GETEX',
      KEY,
      unit,
      time,
    ]),
  ]),
]);

/** Before, at and after the expiry that the third state has; and in the past. */
const EXPIRE_TIMES: Readonly<Record<string, readonly string[]>> = {
  EXPIRE: [
    '1000000',
    '0',
    '-1',
    '10000000000',
    '-9223372036854775',
    '-9223372036854776',
    '9223372036854776',
    'abc',
    '',
  ],
  PEXPIRE: ['1000000000', '0', '-1', '10000000000000', '-9223372036854775808', '9223372036854775807', '1.0'],
  EXPIREAT: ['5000000000', '6000000000', '7000000000', '1', '0', '-1', '-9223372036854776', '9223372036854776', 'x'],
  PEXPIREAT: ['5999999999999', '6000000000000', '6000000000001', '1', '0', '-9223372036854775808', '+1'],
};
const conditions: readonly Words[] = [['NX'], ['XX'], ['GT'], ['LT'], ['other']];

export const expireCombinations: readonly Words[] = onEveryState(
  Object.entries(EXPIRE_TIMES).flatMap(([name, times]) =>
    times.flatMap((time) => sequences(conditions, 2).map((options) => [name, KEY, time, ...options])),
  ),
);

const NUMBERS = [
  ...['0', '-0', '1', '-1', '00', '01', '+1', ' 1', '1 ', '', '-', '--1', '1.0', '1e1', '0x1', 'one', '1\x00', '\xff'],
  ...['9007199254740991', '9007199254740992', '9007199254740993', '-9007199254740993', '4294967295', '4294967296'],
  ...[
    '9223372036854775806',
    '9223372036854775807',
    '9223372036854775808',
    '99999999999999999999',
    '18446744073709551615',
  ],
  ...['-9223372036854775807', '-9223372036854775808', '-9223372036854775809', '-99999999999999999999'],
];
const STARTS = [
  '0',
  '1',
  '-1',
  '9223372036854775807',
  '9223372036854775806',
  '-9223372036854775808',
  '-9223372036854775807',
];

/** Every way of adding every number to every edge, and of counting on from there. */
export const arithmeticCombinations: readonly Words[] = STARTS.flatMap((start) =>
  NUMBERS.flatMap((number) =>
    ['INCRBY', 'DECRBY'].flatMap((name) => [
      ['SET', KEY, start],
      [name, KEY, number],
      ['GET', KEY],
      ['INCR', KEY],
      ['DECR', KEY],
      ['DECR', KEY],
    ]),
  ),
);

/** Patterns that Redis reads in ways of its own, against keys that show the differences. */
export const patternCombinations: readonly Words[] = [
  ['FLUSHALL'],
  ...['', 'a', 'b', 'ab', 'abc', '-', ']', '[', '^', '*', '\\', 'a*', 'key:1', 'key:22', '\xff', '\x00'].map((key) => [
    'SET',
    key,
    '1',
  ]),
  ...[
    ...['', '*', '**', '***', '?', '??', 'a*', '*a', '*a*', '*b*c', 'a?', '*?', '?*', 'key:*', 'key:?', '*:*2'],
    ...[
      '[ab]',
      '[^ab]',
      '[a-b]',
      '[b-a]',
      '[^a-b]',
      '[a',
      '[',
      '[^',
      '[]',
      '[^]',
      '[]a]',
      '[a-]',
      '[-a]',
      '[a-',
      '[\\]]',
      '[\\-]',
      '[a\\',
    ],
    ...[
      '\\a',
      '\\*',
      '\\',
      '\\\\',
      'a\\*',
      '\\?',
      '\\[',
      '[!a]',
      '[^^]',
      '[*]',
      '[?]',
      'key:[0-9]*',
      '*[0-9]',
      '\xff',
      '\x00',
    ],
  ].flatMap((pattern) => [
    ['KEYS', pattern],
    ['SCAN', '0', 'COUNT', '1000', 'MATCH', pattern],
  ]),
];
