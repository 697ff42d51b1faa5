import { expect, test } from 'vitest';
import { percentile } from './lag.js';

test('percentiles are among the measured values', () => {
  const values = Array.from({ length: 100 }, (_, index) => index);
  expect([percentile(values, 0.5), percentile(values, 0.99), percentile([7], 0.99)]).toEqual([50, 99, 7]);
});
