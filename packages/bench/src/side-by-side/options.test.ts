import { expect, test } from 'vitest';
import { parseFlags, UsageError } from '../command-line/flags.js';
import { flags } from './options.js';

const parse = (...argv: string[]) => parseFlags(flags, argv);

test('by default: INCR, GET and memory, pipelines 1, 16 and 64, a million keys', () => {
  expect(parse()).toMatchObject({
    workload: ['incr-uniform', 'get', 'memory', 'memory-expiring'],
    pipeline: [1, 16, 64],
    connections: [50],
    keys: [1_000_000],
    lanes: [],
    noLimits: false,
  });
});

test('lists, numbers and switches are taken from the command line', () => {
  const numbers = ['--pipeline', '8', '--connections=1, 500', '--seconds', '0.5', '--lanes', '1,2'];
  const words = ['--serve-arguments=--transport net', '--no-limits', '--no-half-load'];
  expect(parse('--workload', 'mixed,memory', ...numbers, ...words)).toMatchObject({
    workload: ['mixed', 'memory'],
    pipeline: [8],
    connections: [1, 500],
    seconds: 0.5,
    lanes: [1, 2],
    serveArguments: '--transport net',
    noLimits: true,
    noHalfLoad: true,
  });
});

test('a smoke run is small, except for flags that are given', () => {
  expect(parse('--smoke')).toMatchObject({ rounds: 1, keys: [10_000], seconds: 0.1 });
  expect(parse('--smoke').workload.length).toBeGreaterThan(5);
  expect(parse('--smoke', '--keys', '77')).toMatchObject({ keys: [77] });
});

test('all mistakes are reported at once', () => {
  const mistaken = () => parse('--workload', 'incr,get', '--pipeline', '0,x', '--keys', '1.5', '--client', 'ab');
  expect(mistaken).toThrow(UsageError);
  for (const part of ['there is no "incr"', '"0" is not', '"x" is not', '"1.5" is not', '--client']) {
    expect(mistaken).toThrow(part);
  }
});

test('an empty list is a mistake, unless it is left to the server', () => {
  expect(() => parse('--pipeline', '')).toThrow('--pipeline: the list is empty');
  expect(parse('--lanes', '').lanes).toEqual([]);
});

test('an unknown flag is a mistake', () => {
  expect(() => parse('--fast')).toThrow(UsageError);
});
