import { expect, test } from 'vitest';
import { QuotaSimulation, type Shape } from './testing/quota-simulation.js';

const WINDOW_MS = 24 * 3600 * 1000;
const SEEDS = 12;
const shapes: readonly Shape[] = ['hub', 'chain'];

test.each(shapes)(
  'all of a limit can be had from an allocator that there is no link to: %s',
  (shape) => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const simulation = new QuotaSimulation(seed, {
        shape,
        regionCount: 5,
        limit: 100,
        windowMs: WINDOW_MS,
        isLossless: true,
      });
      expect(simulation.runDemand('uniform'), `seed ${seed}`).toBe(100);
    }
  },
  240_000,
);

test.each(shapes)(
  'never one too many is allowed through others, in every schedule: %s',
  (shape) => {
    for (let seed = 1; seed <= SEEDS; seed++)
      expect(new QuotaSimulation(seed, { shape, regionCount: 4 }).run().failures, `seed ${seed}`).toEqual([]);
  },
  240_000,
);
