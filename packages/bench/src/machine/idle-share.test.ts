import { expect, test } from 'vitest';
import { idleShareBetween, sampleIdle } from './idle-share.js';

test('the share is of the time between the samples, not of all time', () => {
  const before = { idleMs: 900, totalMs: 1000 };
  expect(idleShareBetween(before, { idleMs: 910, totalMs: 1100 })).toBeCloseTo(0.1);
  expect(idleShareBetween(before, before)).toBe(1);
  expect(sampleIdle().totalMs).toBeGreaterThan(sampleIdle().idleMs);
});
