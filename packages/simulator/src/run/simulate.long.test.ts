import { expect, test } from 'vitest';
import { SEED_SPACE } from '../testing/schedules.js';
import { PLANS, type PlanName } from './plans.js';

/** Divided among the plans. */
const SECONDS = Number(process.env.QUOTADB_SIMULATE_SECONDS ?? 1200);
const names = Object.keys(PLANS) as PlanName[];

test.each(names)('as many fresh schedules as time allows hold: %s', async (name) => {
  const endsAtMs = performance.now() + (SECONDS * 1000) / names.length;
  const failing: string[] = [];
  for (let seed = Math.floor(Math.random() * SEED_SPACE); performance.now() < endsAtMs; seed++) {
    const { failures } = await PLANS[name].simulate(seed);
    if (failures.length > 0) failing.push(`seed ${seed}: ${failures[0]}`);
  }
  expect(failing).toEqual([]);
});
