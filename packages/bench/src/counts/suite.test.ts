import { expect, test } from 'vitest';
import { ExitCode } from '../run-bench.js';
import { bench } from '../testing/bench.js';
import { itemSequence } from './requests.js';

test('mistakes in the flags are reported together', async () => {
  const { code, progress } = await bench('counts', '--items', '0', '--scenario', 'sideways');
  expect(code).toBe(ExitCode.Usage);
  expect(progress).toMatch(/--scenario[\s\S]*--items/);
});

test('scenarios send the items they name', () => {
  const share = (items: string[]) => items.filter((item) => item === 'item-0').length / items.length;
  expect(share(itemSequence('uniform', 100))).toBeCloseTo(0.01, 2);
  expect(share(itemSequence('hot', 100))).toBe(1);
  expect(share(itemSequence('zipf', 100))).toBeGreaterThan(0.15);
});
