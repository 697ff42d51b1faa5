import { describe, expect, test } from 'vitest';
import { findFailing, isFound, seedsFrom } from '../testing/schedules.js';
import { MOVE_MISTAKES } from './mistakes.js';
import { simulateMoves } from './move-simulation.js';

/** Not fresh ones for now, see move-simulation.test.ts. */
const SEEDS = 12;
/** A mistake must be found within this many schedules. */
const SEEDS_FOR_MISTAKES = 150;

/** The seed to try first, where it is not the first. */
const FOUND_BY: Readonly<Record<string, number>> = {
  'the old group forgets slots before they are handed over': 7,
  'a receiver takes what was sent under a stale map': 72,
  'a member states a map before commands that began under another have ended': 14,
  'a batch is sent before all members have stated that the slots are held': 39,
  'a statement that comes late replaces a newer one': 8,
  'slots are handed over before all members of the new group have the keys': 61,
  'the counters of limits stay where they were': 7,
  'tokens are minted by a move: what was used is forgotten': 5,
};

test('slots move with every increment and no more tokens; a seed is replayed by `quotadb simulate --moves --seed S`', async () => {
  expect(await findFailing(simulateMoves, seedsFrom(1, SEEDS))).toEqual([]);
}, 600_000);

describe('the simulator finds that', () => {
  test.each(MOVE_MISTAKES)(
    '$name',
    async (mistake) => {
      const seeds = [FOUND_BY[mistake.name] ?? 1, ...seedsFrom(1, SEEDS_FOR_MISTAKES)];
      expect(await isFound(simulateMoves, mistake, seeds)).toBe(true);
    },
    600_000,
  );
});
