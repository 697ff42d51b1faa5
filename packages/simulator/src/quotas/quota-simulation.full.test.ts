import { describe, expect, test } from 'vitest';
import { findFailing, freshSeeds, isFound, seedsFrom } from '../world/testing.js';
import { DEMANDS, measureDemand } from './demand.js';
import { GATE_MISTAKES, LEASE_MISTAKES, QUOTA_MISTAKES, RESTART_MISTAKES } from './mistakes.js';
import { simulateLeases, simulateQuotas } from './quota-simulation.js';

/** New ones at every run: about twenty seconds of them. */
const FRESH_SEEDS = 60;
const LEASE_SEEDS = 8;
/** A mistake must be found within this many schedules. */
const SEEDS_FOR_MISTAKES = 200;
const DEMAND_SEEDS = 4;

/** The seed to try first. */
const FOUND_BY: Readonly<Record<string, number>> = {
  'a local balance is filled before the disk holds its mark': 18,
  'a cancelled reservation is refunded twice': 9,
  'a commit refunds all that was reserved': 11,
  'a reservation lapses though it was settled': 9,
  'a reservation lapses too early': 7,
  'a commit charges what the limit does not have': 8,
  'the grantor looks at its own window and grants in the one it was asked for': 9,
  'tokens are put into the window that is now, not the one they are of': 9,
  'a new incarnation begins with the rights that an earlier one began with': 27,
  'a new incarnation has the grants to an earlier one': 24,
  'the grantees are not saved': 8,
  'a new incarnation begins with windows that leases of the last one reach into': 32,
  'a lease goes back before its time': 4,
  'tokens come back before the disk holds the end of their reservation': 186,
  'a commit is answered before the disk holds it': 190,
  'a restart forgets reservations': 7,
  'a restart forgets the ids of operations': 43,
  'a restart forgets leases': 3,
  'a renewal is answered before the disk holds it': 72,
  'policies are taken over with any seal': 34,
  'tokens are granted to an incarnation that is not at the other end of the link': 23,
};

test('no limit is exceeded in fresh seeds; a failing one is replayed by `quotadb simulate --quotas --seed S`', async () => {
  expect(await findFailing(simulateQuotas, freshSeeds(FRESH_SEEDS))).toEqual([]);
}, 600_000);

test('no lease too many is held in fresh seeds; a failing one is replayed by `quotadb simulate --leases --seed S`', async () => {
  expect(await findFailing(simulateLeases, freshSeeds(LEASE_SEEDS))).toEqual([]);
}, 600_000);

describe('the simulator finds that', () => {
  const planted = [
    ...[...QUOTA_MISTAKES, ...GATE_MISTAKES, ...RESTART_MISTAKES].map((mistake) => ({
      mistake,
      simulate: simulateQuotas,
    })),
    ...LEASE_MISTAKES.map((mistake) => ({ mistake, simulate: simulateLeases })),
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
