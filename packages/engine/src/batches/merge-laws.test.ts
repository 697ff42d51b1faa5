import fc from 'fast-check';
import { describe, test } from 'vitest';
import { histories, play } from '../testing/history.js';
import { LAWS } from '../testing/laws.js';

describe('merging any history of increments, decrements, resets, expiries and generations', () => {
  test.each(LAWS)('$name', ({ check }) => {
    fc.assert(
      fc.property(histories, fc.integer(), (plan, seed) => check(play(plan), seed)),
      { numRuns: 120 },
    );
  });
});
