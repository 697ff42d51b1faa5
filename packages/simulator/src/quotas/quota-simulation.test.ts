import { describe, expect, test } from 'vitest';
import { KINDS } from '../kinds.js';
import { runSimulate } from '../run-simulate.js';
import { shrink } from '../shrink.js';
import { QUOTA_MISTAKES } from './quota-mistakes.js';
import { simulateQuotas } from './quota-simulation.js';

/** Fresh ones at every run: about twenty seconds' worth. */
const FRESH_SEEDS = 60;
const SEED_SPACE = 2 ** 31;
/** A mistake has to show in so many schedules. */
const SEEDS_FOR_MISTAKES = 200;

/** What these seeds found, in quotas of their day; what was found before plans changed is held by the mistakes. */
const REGRESSIONS: readonly (readonly [seed: number, found: string])[] = [
  [1011, 'tokens on their way to the disk were forgotten when others came back to the pocket meanwhile'],
];

/** Where to look first; if it is not found there any more, everywhere. */
const FOUND_BY: Readonly<Record<string, number>> = {
  'a pocket is filled before the disk holds its mark': 18,
  'a cancelled reservation is refunded twice': 9,
  'a commit refunds all that was reserved': 11,
  'a reservation lapses though it was settled': 9,
  'a reservation lapses too early': 7,
  'a commit charges what the limit does not have': 8,
  'the grantor looks at its own window and grants in the one it was asked for': 9,
  'tokens are put into the window that is now, not the one they are of': 9,
  'a new life begins with what an earlier one began with': 27,
  'a new life has what was granted to an earlier one': 24,
  'whom something was granted to is not written down': 8,
};

describe('no limit is ever exceeded, and no token is lost or doubled', () => {
  test('in a number of fresh seeds; a failing one is replayed by `quotadb simulate --quotas --seed S --trace`', async () => {
    const from = Math.floor(Math.random() * SEED_SPACE);
    const lines: string[] = [];
    const request = {
      kind: 'quotas',
      isUnsynced: false,
      threads: 1,
      seconds: 600,
      traces: false,
      shrinks: false,
    } as const;
    const holds = await runSimulate({ ...request, from, count: FRESH_SEEDS }, (line) => lines.push(line));
    expect(holds, lines.join('\n')).toBe(true);
  }, 600_000);

  test.each(REGRESSIONS)('seed %i, which found: %s', async (seed) => {
    expect((await simulateQuotas(seed)).failures).toEqual([]);
  });
});

test('a seed is a schedule: the same trace every time, with answers to clients in it', async () => {
  let allowed = 0;
  for (const seed of [1, 2, 3]) {
    const [one, other] = [await simulateQuotas(seed, { traces: true }), await simulateQuotas(seed, { traces: true })];
    allowed += one.trace.filter((line) => line.includes(' allows ')).length;
    expect(other.trace).toEqual(one.trace);
  }
  expect(allowed).toBeGreaterThan(10);
});

describe('the simulator finds that', () => {
  test.each(QUOTA_MISTAKES)(
    '$name',
    async (mistake) => {
      const everywhere = Array.from({ length: SEEDS_FOR_MISTAKES }, (_, index) => index + 1);
      let isFound = false;
      for (const seed of [FOUND_BY[mistake.name] ?? 1, ...everywhere]) {
        isFound = (await simulateQuotas(seed, mistake)).failures.length > 0;
        if (isFound) break;
      }
      expect(isFound).toBe(true);
    },
    300_000,
  );
});

test('a failing schedule of quotas is made smaller and still fails', async () => {
  const mistake = QUOTA_MISTAKES.find(({ name }) => name === 'a retry is done again');
  const { plan, failures } = await simulateQuotas(1, mistake);
  expect(failures.length).toBeGreaterThan(0);
  const only = await shrink(KINDS.quotas, 1, { ...mistake }, 60);
  expect(only.size).toBeLessThan(plan.steps.length / 2);
});
