import { expect, test } from 'vitest';
import { QuotaSimulation } from './testing/quota-simulation.js';

const FIRST_SEED = 1001;
const SEEDS = 3000;

test('never one too many in a great many schedules', () => {
  for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++)
    expect(new QuotaSimulation(seed).run().failures, `seed ${seed}`).toEqual([]);
}, 7_200_000);
