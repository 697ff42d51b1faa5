import { describe, expect, test } from 'vitest';
import { findFailing, freshSeeds, isFound, seedsFrom } from '../testing/schedules.js';
import { ADJUSTMENT_MISTAKES } from './adjustment-mistakes.js';
import { DEMANDS, measureDemand } from './demand.js';
import { MEMBER_MISTAKES } from './member-mistakes.js';
import { GATE_MISTAKES, LEASE_MISTAKES, QUOTA_MISTAKES, RESTART_MISTAKES } from './mistakes.js';
import { simulateAdjustments, simulateLeases, simulateMembers, simulateQuotas } from './quota-simulation.js';

/** New ones at every run: about twenty seconds of them. */
const FRESH_SEEDS = 60;
const LEASE_SEEDS = 8;
const ADJUSTMENT_SEEDS = 30;
const MEMBER_SEEDS = 30;
/** A mistake must be found within this many schedules. */
const SEEDS_FOR_MISTAKES = 200;
const DEMAND_SEEDS = 4;

/** The seed to try first. */
const FOUND_BY: Readonly<Record<string, number>> = {
  'a local balance is filled before the disk holds its mark': 12,
  'a cancelled reservation is refunded twice': 9,
  'a commit refunds all that was reserved': 15,
  'a reservation lapses though it was settled': 9,
  'a reservation lapses too early': 7,
  'a commit charges what the limit does not have': 128,
  'the grantor looks at its own window and grants in the one it was asked for': 9,
  'tokens are put into the window that is now, not the one they are of': 9,
  'a new incarnation begins with the rights that an earlier one began with': 27,
  'a new incarnation has the grants to an earlier one': 34,
  'the grantees are not saved': 8,
  'what a lost region had is minted twice': 276,
  'what a lost region had granted is minted again': 276,
  'a new incarnation begins with windows that leases of the last one reach into': 1057,
  'a lease goes back before its time': 1,
  'tokens come back before the disk holds the end of their reservation': 136,
  'a commit is answered before the disk holds it': 195,
  'a restart forgets reservations': 7,
  'a restart forgets the ids of operations': 43,
  'a lease holds nothing of the windows that it reaches into': 7,
  'a restart forgets leases': 3,
  'a renewal is answered before the disk holds it': 105,
  'an override in the middle of a window is minted by every region': 4,
  'extra tokens are given for a repetition too': 4,
  'tokens are taken of the window that follows': 5,
  'a region that is cut off admits its part again and again': 13,
  'a new incarnation admits what an earlier one has admitted': 593,
  'a re-mint compares the watermarks of the regions, not what they hold': 900252,
  'members gain before the others have given up': 106,
  'policies are taken over with any seal': 34,
  'tokens are granted to an incarnation that is not at the other end of the link': 58,
};

test('no limit is exceeded in fresh seeds; a failing one is replayed by `quotadb simulate --quotas --seed S`', async () => {
  expect(await findFailing(simulateQuotas, freshSeeds(FRESH_SEEDS))).toEqual([]);
}, 600_000);

test('no lease too many is held in fresh seeds; a failing one is replayed by `quotadb simulate --leases --seed S`', async () => {
  expect(await findFailing(simulateLeases, freshSeeds(LEASE_SEEDS))).toEqual([]);
}, 600_000);

test('no limit in force is exceeded in fresh seeds of adjustments; one is replayed by `quotadb simulate --adjustments --seed S`', async () => {
  expect(await findFailing(simulateAdjustments, freshSeeds(ADJUSTMENT_SEEDS))).toEqual([]);
}, 600_000);

test('no limit is exceeded in fresh seeds of members; one is replayed by `quotadb simulate --members --seed S`', async () => {
  expect(await findFailing(simulateMembers, freshSeeds(MEMBER_SEEDS))).toEqual([]);
}, 600_000);

describe('the simulator finds that', () => {
  const planted = [
    ...[...QUOTA_MISTAKES, ...GATE_MISTAKES, ...RESTART_MISTAKES].map((mistake) => ({
      mistake,
      simulate: simulateQuotas,
    })),
    ...LEASE_MISTAKES.map((mistake) => ({ mistake, simulate: simulateLeases })),
    ...ADJUSTMENT_MISTAKES.map((mistake) => ({ mistake, simulate: simulateAdjustments })),
    ...MEMBER_MISTAKES.map((mistake) => ({ mistake, simulate: simulateMembers })),
  ];
  test.each(planted)(
    '$mistake.name',
    async ({ mistake, simulate }) => {
      const seeds = [FOUND_BY[mistake.name] ?? 1, ...seedsFrom(1, SEEDS_FOR_MISTAKES)];
      expect(await isFound(simulate, mistake, seeds)).toBe(true);
    },
    300_000,
  );
});

test.each(DEMANDS.flatMap((demand) => [2, 3, 5].map((regions) => ({ demand, regions }))))(
  'all of a small limit and 99 % of a large one can be had: $demand demand in $regions regions',
  async ({ demand, regions }) => {
    const had = async (limit: number) =>
      (await measureDemand({ limiter: 'quota', demand, regions, limit, seed: regions })).admitted;
    expect(await had(100)).toBe(100);
    expect(await had(10_000)).toBeGreaterThanOrEqual(9900);
  },
  240_000,
);

test.each(['hub', 'chain'] as const)(
  'all of a limit can be had from an allocator that there is no link to: %s',
  async (topology) => {
    const limit = 100;
    for (const seed of seedsFrom(1, DEMAND_SEEDS)) {
      const setup = { limiter: 'quota', demand: 'uniform', regions: 5, limit, seed, topology } as const;
      expect((await measureDemand(setup)).admitted, `seed ${seed}`).toBe(limit);
    }
  },
  240_000,
);
