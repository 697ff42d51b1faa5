import { expect, test } from 'vitest';
import { QuotaSimulation } from './testing/quota-simulation.js';

const SEEDS = 60;

test('never one too many, and all of it where nothing is lost, in every schedule', () => {
  let allowed = 0;
  for (let seed = 1; seed <= SEEDS; seed++) {
    const outcome = new QuotaSimulation(seed).run();
    expect(outcome.failures, `seed ${seed}`).toEqual([]);
    allowed += outcome.allowed;
  }
  expect(allowed).toBeGreaterThan(SEEDS);
}, 240_000);
