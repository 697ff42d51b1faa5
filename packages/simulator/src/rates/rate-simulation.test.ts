import { describe, expect, test } from 'vitest';
import { findFailing, freshSeeds, isFound, seedsFrom } from '../testing/schedules.js';
import { RATE_MISTAKES } from './mistakes.js';
import { simulateRates } from './rate-simulation.js';

/** New ones at every run. */
const FRESH_SEEDS = 30;
/** A mistake must be found within this many schedules. */
const SEEDS_FOR_MISTAKES = 300;
/** The seed to try first. */
const FOUND_BY: Readonly<Record<string, number>> = {
  'an unpublished count is published though its window has aged out': 38,
};

test('the invariants of rate limits across regions hold in a number of fresh schedules', async () => {
  expect(await findFailing(simulateRates, freshSeeds(FRESH_SEEDS))).toEqual([]);
}, 300_000);

/** They found that the check of publishing too early did not know of clocks more than a window apart. */
test('schedules that once failed hold', async () => {
  expect(await findFailing(simulateRates, [741_264_966, 868_154_938])).toEqual([]);
});

test('a seed is a schedule: the same trace every time, with decisions in it', async () => {
  const [one, other] = [await simulateRates(1, { traces: true }), await simulateRates(1, { traces: true })];
  expect(one.trace.filter((line) => line.includes(' allows ')).length).toBeGreaterThan(0);
  expect(other.trace).toEqual(one.trace);
});

describe('the simulator finds that', () => {
  test.each(RATE_MISTAKES)(
    '$name',
    async (mistake) => {
      const seeds = [FOUND_BY[mistake.name] ?? 1, ...seedsFrom(1, SEEDS_FOR_MISTAKES)];
      expect(await isFound(simulateRates, mistake, seeds)).toBe(true);
    },
    300_000,
  );
});
