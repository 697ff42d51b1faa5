import { expect, test } from 'vitest';
import { percentile } from './lag.js';
import { parseReplicationOptions } from './options.js';

test('mistakes in the command line are reported at once', () => {
  expect(() => parseReplicationOptions(['--seconds', 'few', '--rounds', '0'])).toThrow(/--seconds.*\n--rounds/);
});

test('percentiles are values that were there', () => {
  const values = Array.from({ length: 100 }, (_, index) => index);
  expect([percentile(values, 0.5), percentile(values, 0.99), percentile([7], 0.99)]).toEqual([50, 99, 7]);
});
