import { DELAY_MS, DEMANDS, type Demand, LIMITERS, measureDemand } from '@quotadb/simulator';
import { integer, integers, names } from '../command-line/flags.js';
import { type BenchRun, defineSuite } from '../command-line/suite.js';
import type { Admission, QuotasRow } from '../results/quotas-row.js';

const flags = {
  regions: integers('numbers of regions', [2, 5], '2,3,4,5'),
  limits: integers('the limits', [1, 1_000_000], '100,10000'),
  demand: names('how the demand is spread over the regions', DEMANDS, DEMANDS.join(',')),
  seed: integer('the same seed gives the same figures', [0, 2 ** 31], '1'),
};

/** `quotadb bench quotas`: over-admission and utilisation. No figure here depends on how fast the machine is. */
export const quotas = defineSuite({
  name: 'quotas',
  summary: 'how much of a limit is allowed across regions, beside counters in each (simulated network)',
  flags,
  rows: { folder: 'quotas', format: formatRow },
  async run({ limits, regions, demand: demands, seed }, run: BenchRun<QuotasRow>) {
    for (const limit of limits) {
      for (const count of regions) {
        for (const demand of demands) {
          run.signal.throwIfAborted();
          run.keep({ ...run.stamp, ...(await measure(limit, count, demand, seed)) });
        }
      }
    }
  },
});

async function measure(limit: number, regions: number, demand: Demand, seed: number) {
  const sides: Record<string, Admission> = {};
  let asked = 0;
  for (const limiter of LIMITERS) {
    const outcome = await measureDemand({ limiter, demand, regions, limit, seed });
    asked = outcome.asked;
    sides[limiter] = {
      admitted: outcome.admitted,
      overAdmission: Math.max(0, outcome.admitted / limit - 1),
      utilisation: Math.min(1, outcome.admitted / limit),
    };
  }
  return { regions, demand, limit, asked, delayMs: DELAY_MS, seed, sides };
}

function formatRow({ limit, regions, demand, sides }: QuotasRow): string {
  const figures = Object.entries(sides).map(([name, { admitted }]) => `${name} ${admitted}`);
  return `limit ${limit}, ${regions} regions, ${demand}: ${figures.join(', ')}`;
}
