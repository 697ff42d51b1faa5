import { expect, test } from 'vitest';
import { UsageError } from './flags.js';
import { benchHelpText, parseOptions } from './options.js';

test('by default: INCR, GET and memory, pipelines 1, 16 and 64, a million keys', () => {
  const options = parseOptions([]);
  expect(options.workloads.map(({ name }) => name)).toEqual(['incr-uniform', 'get']);
  expect(options.memoryWorkloads.map(({ name }) => name)).toEqual(['memory', 'memory-expiring']);
  expect(options).toMatchObject({
    pipelines: [1, 16, 64],
    connections: [50],
    keys: 1_000_000,
    lanes: [],
    limits: true,
  });
});

test('lists, numbers and switches are taken from the command line', () => {
  const options = parseOptions([
    ...['--workload', 'mixed,memory', '--pipeline', '8', '--connections=1, 500', '--seconds', '0.5', '--lanes', '1,2'],
    ...['--serve-arguments=--transport net', '--no-limits', '--no-half-load'],
  ]);
  expect(options.workloads.map(({ name }) => name)).toEqual(['mixed']);
  expect(options.memoryWorkloads.map(({ name }) => name)).toEqual(['memory']);
  expect(options).toMatchObject({ pipelines: [8], connections: [1, 500], seconds: 0.5, lanes: [1, 2] });
  expect(options).toMatchObject({ serveArguments: ['--transport', 'net'], limits: false, halfLoad: false });
});

test('a number of requests takes the place of a length in seconds', () => {
  expect(parseOptions(['--requests', '1000'])).toMatchObject({ requests: 1000, seconds: 0 });
});

test('a smoke run is small unless told otherwise', () => {
  expect(parseOptions(['--smoke'])).toMatchObject({ rounds: 1, keys: 10_000, seconds: 0.1 });
  expect(parseOptions(['--smoke']).workloads.length).toBeGreaterThan(5);
  expect(parseOptions(['--smoke', '--keys', '77'])).toMatchObject({ keys: 77 });
});

test('all mistakes are told at once', () => {
  const parse = () => parseOptions(['--workload', 'incr,get', '--pipeline', '0,x', '--keys', '1.5', '--client', 'ab']);
  expect(parse).toThrow(UsageError);
  for (const part of ['there is no "incr"', '"0" is not', '"x" is not', '"1.5" is not', '--client']) {
    expect(parse).toThrow(part);
  }
});

test('a list with nothing in it is a mistake, unless it is left to the server', () => {
  expect(() => parseOptions(['--pipeline', ''])).toThrow('--pipeline: there is nothing in it');
  expect(parseOptions(['--lanes', '']).lanes).toEqual([]);
});

test('an unknown flag is a mistake', () => {
  expect(() => parseOptions(['--fast'])).toThrow(UsageError);
});

test('the help names every workload and flag', () => {
  for (const word of ['incr-zipf', 'memory-expiring', '--no-limits', '--serve-arguments', '--smoke', 'report']) {
    expect(benchHelpText()).toContain(word);
  }
});
