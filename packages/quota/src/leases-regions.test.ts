import { expect, test } from 'vitest';
import { LeaseSimulation } from './testing/lease-simulation.js';
import { leaseMistakes } from './testing/mistakes.js';

const SEEDS = 40;
/** A search that has not found a mistake by then does not look well enough. */
const SEEDS_FOR_A_MISTAKE = 100;
/** Where to look first; if it is not found there any more, everywhere. */
const FOUND_BY: Readonly<Record<string, number>> = {
  'a lease holds nothing of the windows that it reaches into': 12,
  'a new life begins with windows that leases of the last one reach into': 60,
};

test('never one lease too many is held, and as many as the limit where nothing is lost, in every schedule', () => {
  let mostHeld = 0;
  let renewals = 0;
  for (let seed = 1; seed <= SEEDS; seed++) {
    const simulation = new LeaseSimulation(seed);
    expect(simulation.run().failures, `seed ${seed}`).toEqual([]);
    mostHeld += simulation.mostHeld;
    renewals += simulation.renewals;
  }
  expect(mostHeld).toBeGreaterThan(SEEDS);
  expect(renewals).toBeGreaterThan(SEEDS);
}, 240_000);

test.each(Object.keys(leaseMistakes))(
  'a schedule shows that %s',
  (name) => {
    const everywhere = Array.from({ length: SEEDS_FOR_A_MISTAKE }, (_, index) => index + 1);
    for (const seed of [FOUND_BY[name] ?? 1, ...everywhere]) {
      const simulation = new LeaseSimulation(seed, { plant: leaseMistakes[name], isLossless: false });
      if (simulation.run().failures.length > 0) return;
    }
    expect.unreachable(`${SEEDS_FOR_A_MISTAKE} schedules have not shown it`);
  },
  240_000,
);
