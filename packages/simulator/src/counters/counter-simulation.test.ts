import { describe, expect, test } from 'vitest';
import { findFailing, seedsFrom } from '../testing/schedules.js';
import { simulateCounters } from './counter-simulation.js';
import { makeCounterPlan } from './plan.js';

/** The same at every run; counter-simulation.full.test.ts has more of them, and fresh ones. */
const FIXED_SEEDS = 40;
const UNSYNCED_SEEDS = 15;
/** One of these fills its memory. */
const SEEDS_WITH_FULL_MEMORY = 400;

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
  [41_001_489, 'a relay dropped what its owner had dropped before the region behind it had received that it had ended'],
  [51_000_397, 'the oracle asked others for a reset that its origin, which waited for no peer, had sent to none'],
  [771_000_166, 'a reset whose owner had answered a process that had crashed meanwhile was kept for ever'],
  [1_382_285_496, 'the same, of a generation that had expired here while its owner gave up waiting'],
];

describe('every schedule holds', () => {
  test('of a number of seeds; a failing one is replayed by `quotadb simulate --seed S --trace`', async () => {
    expect(await findFailing(simulateCounters, seedsFrom(1, FIXED_SEEDS))).toEqual([]);
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
  for (let seed = 1; refusedTotal === 0 && seed <= SEEDS_WITH_FULL_MEMORY; seed++) {
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
