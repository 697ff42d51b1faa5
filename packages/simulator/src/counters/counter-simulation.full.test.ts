import { describe, expect, test } from 'vitest';
import { findFailing, freshSeeds, isFound, seedsFrom } from '../testing/schedules.js';
import { simulateCounters } from './counter-simulation.js';
import { COUNTER_MISTAKES } from './mistakes.js';

/** Behind those of counter-simulation.test.ts, and some that were never run: `npm run test:long` runs many of those. */
const FIXED_SEEDS = 160;
const FIRST_FIXED_SEED = 41;
const FRESH_SEEDS = 40;
const UNSYNCED_SEEDS = 45;
const FIRST_UNSYNCED_SEED = 16;
/** A mistake must be found within this many schedules. */
const SEEDS_FOR_MISTAKES = 400;

/** The seed to try first. */
const FOUND_BY: Readonly<Record<string, number>> = {
  'a late change of a generation that is over is added to the next one': 177,
  'a reset cancels more of a generation than was seen of it': 10,
  'a generation is ended when a part of it was cancelled': 10,
  'an empty component is dropped before every replica has seen it': 42,
  'an expired generation is dropped before every replica has seen its expiry': 2580,
  'a generation does not outlive an expiry that arrived too late': 19,
  'a watermark moves at the end of a walk of which parts are missing': 27,
  'a watermark moves with every part of a walk': 6,
  'an older component takes the place of a newer one': 87,
  'a superseded component is let in again': 54,
  'a node that lost its state takes up its old identity': 1,
  'what others counted is added to the own counts': 1,
  'a change is sent before the disk holds it': 1,
  'a change is acknowledged for good before the disk holds it': 2580,
  'a relay collects what others ended before all peers have acknowledged it': 42,
  'a reset is withdrawn before all peers have acknowledged the end of what it cancelled': 272,
  'a gap is not asked for again': 2,
  'digests are compared at different watermarks, and what the other does not hold is dropped': 56,
  'a view is taken for as fresh as the moment when the claim arrived': 3,
  'repair drops changes newer than the other replica has seen': 126,
  'a clock is followed wherever it leaps': 12,
  'data from a clock that was far ahead keeps its dates': 34,
  'recovery does not ask which files there were': 20,
  'a stop that could not write claims that it has': 12,
  'no peer shows that a disk is an old copy': 121,
  'changes are sent before peers have shown that the disk is no old copy': 11,
  'an old copy forgets which changes it has in common with the other': 160,
  'a process is let in under the name of another that runs': 61,
};

test('every schedule of more seeds holds; a failing one is replayed by `quotadb simulate --seed S --trace`', async () => {
  const seeds = [...seedsFrom(FIRST_FIXED_SEED, FIXED_SEEDS), ...freshSeeds(FRESH_SEEDS)];
  expect(await findFailing(simulateCounters, seeds)).toEqual([]);
}, 300_000);

test('where disks are not synced, every schedule of more seeds holds', async () => {
  const unsynced = (seed: number) => simulateCounters(seed, { isUnsynced: true });
  expect(await findFailing(unsynced, seedsFrom(FIRST_UNSYNCED_SEED, UNSYNCED_SEEDS))).toEqual([]);
}, 300_000);

describe('the simulator finds that', () => {
  test.each(COUNTER_MISTAKES)(
    '$name',
    async (mistake) => {
      const seeds = [FOUND_BY[mistake.name] ?? 1, ...seedsFrom(1, SEEDS_FOR_MISTAKES)];
      expect(await isFound(simulateCounters, mistake, seeds)).toBe(true);
    },
    300_000,
  );
});
