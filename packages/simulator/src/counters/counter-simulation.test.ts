import { describe, expect, test } from 'vitest';
import { findFailing, freshSeeds, isFound, seedsFrom } from '../world/testing.js';
import { simulateCounters } from './counter-simulation.js';
import { COUNTER_MISTAKES } from './mistakes.js';
import { makeCounterPlan } from './plan.js';

/**
 * The same at every run, and some that were never run: `npm run test:long` runs as many of those as it has time for.
 */
const FIXED_SEEDS = 200;
const FRESH_SEEDS = 60;
const UNSYNCED_SEEDS = 60;
/** A mistake must be found within this many schedules. */
const SEEDS_FOR_MISTAKES = 400;

/**
 * The defects that these seeds found. A seed names the same schedule as long as the plan stays as it is; the defects of
 * earlier plans are planted as mistakes instead.
 */
const REGRESSIONS: readonly (readonly [seed: number, found: string])[] = [
  [9, 'a view of an origin that has written nothing was never called fresh where it came through a relay'],
  [18, 'the same through two relays'],
  [159, 'a relay dropped what had expired before the region behind it had seen that it would'],
  [
    498_214_857,
    'digests of an origin that no other replica knew were ignored, and its unfinished first walk stayed with one',
  ],
  [
    498_215_373,
    'the end of a generation, sent to one peer before its origin died, was in no inventory: others kept it',
  ],
  [19_161_269, 'with memory full to the last page, a generation began without the floor that keeps earlier ones ended'],
  [19_161_711, 'a reset was kept for ever where its owner had answered it while this node was away'],
  [1_665_084_765, 'the log went on in a segment that the next one, begun in vain and still there, had said to be over'],
  [7_001_046, 'a reset made again after a crash cancelled only the part of the first one that the disk had kept'],
  [
    41_001_945,
    'a sum of generations was used past an expiry that raised the floor, where its generation did not count',
  ],
];

/** The seed to try first. */
const FOUND_BY: Readonly<Record<string, number>> = {
  // The engine is about to name these so.
  'a late change of a generation that is over is added to the next one': 303,
  'a reset cancels more of a generation than was seen of it': 10,
  'a generation is ended when a part of it was cancelled': 10,
  'an empty component is dropped before every replica has seen it': 82,
  'an expired generation is dropped before every replica has seen its expiry': 2580,
  'a generation does not outlive an expiry that arrived too late': 19,
  'a watermark moves at the end of a walk of which parts are missing': 27,
  'a watermark moves with every part of a walk': 6,
  'an older component takes the place of a newer one': 177,
  'a superseded component is let in again': 54,
  'a late change of a life that is over is added to the next one': 303,
  'a reset cancels more of a life than was seen of it': 10,
  'a life is ended when a part of it was cancelled': 10,
  'an empty component is forgotten before everybody has seen it': 82,
  'an expired life is forgotten before everybody has heard of its expiry': 2580,
  'a life does not outlive an expiry that it heard of too late': 19,
  'a node that lost its state takes up its old identity': 1,
  'what others counted is added to the own counts': 1,
  'a change is sent before the disk holds it': 1,
  'a change is acknowledged for good before the disk holds it': 1584,
  'a relay collects what others ended before all peers have acknowledged it': 42,
  'a reset is withdrawn before all peers have acknowledged the end of what it cancelled': 157,
  'a gap is not asked for again': 2,
  'repair drops what is newer than what the other has seen': 126,
  'digests are compared at different watermarks, and what the other does not hold is dropped': 56,
  'a view is taken for as fresh as the moment when the claim arrived': 3,
};

describe('every schedule holds', () => {
  test('of a number of seeds; a failing one is replayed by `quotadb simulate --seed S --trace`', async () => {
    const seeds = [...seedsFrom(1, FIXED_SEEDS), ...freshSeeds(FRESH_SEEDS)];
    expect(await findFailing(simulateCounters, seeds)).toEqual([]);
  }, 300_000);

  test.each(REGRESSIONS)('seed %i, which found: %s', async (seed) => {
    expect((await simulateCounters(seed)).failures).toEqual([]);
  });
});

test('where disks are not synced, a node that loses its power is a new incarnation, and all else holds', async () => {
  let lossesTotal = 0;
  for (const seed of seedsFrom(1, UNSYNCED_SEEDS)) {
    const { failures, trace } = await simulateCounters(seed, { isUnsynced: true, traces: true });
    expect(failures, `seed ${seed}`).toEqual([]);
    lossesTotal += trace.filter((line) => line.includes('loses its power')).length;
  }
  expect(lossesTotal).toBeGreaterThan(0);
}, 300_000);

test('memory that is full refuses changes, and nothing else comes of it', async () => {
  let refusedTotal = 0;
  for (let seed = 1; refusedTotal === 0 && seed <= SEEDS_FOR_MISTAKES; seed++) {
    if (!makeCounterPlan(seed).steps.some(({ kind }) => kind === 'fillMemory')) continue;
    const { failures, trace } = await simulateCounters(seed, { traces: true });
    expect(failures, `seed ${seed}`).toEqual([]);
    refusedTotal += trace.filter((line) => line.includes('has no memory for')).length;
  }
  expect(refusedTotal).toBeGreaterThan(0);
}, 300_000);

test('a seed is a schedule: the same trace every time', async () => {
  for (const seed of [1, 2, 3, 4, 5]) {
    const [one, other] = [
      await simulateCounters(seed, { traces: true }),
      await simulateCounters(seed, { traces: true }),
    ];
    expect(one.trace.length).toBeGreaterThan(10);
    expect(other.trace).toEqual(one.trace);
  }
});

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
