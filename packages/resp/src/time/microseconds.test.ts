import { expect, test } from 'vitest';
import { microsecondsOf } from './microseconds.js';

test('microseconds go on within a millisecond of the clock and never run backwards', () => {
  let monotonicMs = 0.25;
  let nowMs = 1_700_000_000_000;
  const clock = { now: () => nowMs, monotonic: () => monotonicMs };
  expect(microsecondsOf(clock)).toBe(1_700_000_000_000_250);
  monotonicMs = 0.75;
  expect(microsecondsOf(clock)).toBe(1_700_000_000_000_750);
  // The monotonic clock has begun its next millisecond before the other has.
  monotonicMs = 1.125;
  expect(microsecondsOf(clock)).toBe(1_700_000_000_000_750);
  nowMs++;
  expect(microsecondsOf(clock)).toBe(1_700_000_000_001_125);
});
