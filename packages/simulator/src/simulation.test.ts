import { describe, expect, test } from 'vitest';
import { MISTAKES } from './mistakes.js';
import { shrink } from './shrink.js';
import { simulate } from './simulation.js';

/** Fresh ones at every run: about twenty seconds' worth. */
const FRESH_SEEDS = 250;
const SEED_SPACE = 2 ** 31;
/** A mistake has to show in so many schedules. */
const SEEDS_FOR_MISTAKES = 400;

/**
 * What these seeds found, in replicas of their day. A seed names the same schedule as long as plan.ts stays as it is; what
 * was found before its last change is held by the mistakes below instead.
 */
const REGRESSIONS: readonly (readonly [seed: number, found: string])[] = [];

describe('every schedule holds', () => {
  test('of a number of fresh seeds; a failing one is replayed by `quotadb simulate --seed S --trace`', async () => {
    const from = Math.floor(Math.random() * SEED_SPACE);
    const failing: string[] = [];
    for (let seed = from; seed < from + FRESH_SEEDS; seed++) {
      const { failures } = await simulate(seed);
      if (failures.length > 0) failing.push(`seed ${seed}: ${failures[0]}`);
    }
    expect(failing).toEqual([]);
  }, 300_000);

  test.each(REGRESSIONS)('seed %i, which found: %s', async (seed) => {
    expect((await simulate(seed)).failures).toEqual([]);
  });
});

test('a seed is a schedule: the same trace every time', async () => {
  for (const seed of [1, 2, 3, 4, 5]) {
    const [one, other] = [await simulate(seed, { traces: true }), await simulate(seed, { traces: true })];
    expect(one.trace.length).toBeGreaterThan(10);
    expect(other.trace).toEqual(one.trace);
  }
});

describe('the simulator finds that', () => {
  test.each(MISTAKES)(
    '$name',
    async (mistake) => {
      let found = 0;
      for (let seed = 1; seed <= SEEDS_FOR_MISTAKES && found === 0; seed++)
        if ((await simulate(seed, mistake)).failures.length > 0) found = seed;
      expect(found).toBeGreaterThan(0);
    },
    300_000,
  );
});

test('a failing schedule is made smaller and still fails', async () => {
  const mistake = MISTAKES.find(({ name }) => name === 'what others counted is added to the own counts');
  const { plan, failures } = await simulate(1, mistake);
  expect(failures.length).toBeGreaterThan(0);
  const only = await shrink(1, { ...mistake }, 100);
  expect(only.size).toBeLessThan(plan.steps.length / 2);
  expect((await simulate(1, { ...mistake, only })).failures.length).toBeGreaterThan(0);
});
