import { expect, test } from 'vitest';
import { simulateRates } from './rate-simulation.js';

const SEEDS = 3_000;
const SEED_SPACE = 2 ** 31;

test('the invariants of global counters hold in many schedules', async () => {
  const from = Math.floor(Math.random() * SEED_SPACE);
  const failing: string[] = [];
  for (let seed = from; seed < from + SEEDS; seed++) {
    const { failures } = await simulateRates(seed);
    if (failures.length > 0) failing.push(`seed ${seed}: ${failures[0]}`);
  }
  expect(failing).toEqual([]);
}, 7_200_000);
