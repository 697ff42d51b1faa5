import { expect, test } from 'vitest';
import { type Demand, QuotaSimulation } from './testing/quota-simulation.js';

const WINDOW_MS = 24 * 3600 * 1000;
const demands: readonly Demand[] = ['uniform', 'skewed', 'moving'];

test.each(demands.flatMap((demand) => [2, 3, 5].map((regionCount) => ({ demand, regionCount }))))(
  'all of a small limit and 99 % of a large one can be had: $demand demand in $regionCount regions',
  ({ demand, regionCount }) => {
    const had = (limit: number) =>
      new QuotaSimulation(regionCount, { regionCount, limit, windowMs: WINDOW_MS, isLossless: true }).runDemand(demand);
    expect(had(100)).toBe(100);
    expect(had(10_000)).toBeGreaterThanOrEqual(9900);
  },
  240_000,
);
