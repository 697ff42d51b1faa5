import { expect, test } from 'vitest';
import { simulateQuotas } from './quota-simulation.js';

/** As many schedules as fit into this time, from a place nobody has been to. */
const SECONDS = Number(process.env.QUOTADB_SIMULATE_SECONDS ?? 1200);
const SEED_SPACE = 2 ** 31;

test('as many schedules of quotas as time allows hold', async () => {
  const endsAtMs = performance.now() + SECONDS * 1000;
  const failing: string[] = [];
  for (let seed = Math.floor(Math.random() * SEED_SPACE); performance.now() < endsAtMs; seed++) {
    const { failures } = await simulateQuotas(seed);
    if (failures.length > 0) failing.push(`seed ${seed}: ${failures[0]}`);
  }
  expect(failing).toEqual([]);
});
