import { expect, test } from 'vitest';
import { parseDurabilityOptions } from './options.js';

test('mistakes in the command line are reported at once', () => {
  expect(() => parseDurabilityOptions(['--seconds', 'few', '--rounds', '0'])).toThrow(/--seconds.*\n--rounds/);
});
