import { parseArgs } from 'node:util';
import { DELAY_MS, DEMANDS, type Demand, LIMITERS, measureDemand } from '@quotadb/simulator';
import type { Output } from '../bench.js';
import { UsageError } from '../options.js';
import { resultsDirectory, stampRun } from '../results/environment.js';
import { writeHistory } from '../results/history.js';
import type { Admission, QuotasRow } from './row.js';

const REGIONS = [2, 3, 4, 5];
const LIMITS = [100, 10_000];
const SEED = 1;

const HELP = `quotadb bench quotas: how much of a limit is allowed across regions, beside counters in each region (simulated network)
  --regions N,…      how many regions (${REGIONS.join(',')})
  --limits N,…       the limits (${LIMITS.join(',')})
  --demand NAME,…    any of ${DEMANDS.join(', ')}; all if left out
  --seed N           the same seed, the same figures (${SEED})
  --results DIR      history of all runs; the repository's bench/results/quotas`;

/** `quotadb bench quotas`: over-admission and utilisation. Nothing here depends on how fast the machine is. */
export async function runQuotasBench(argv: readonly string[], signal: AbortSignal, output: Output): Promise<void> {
  const options = parseOptions(argv);
  if (options.help) {
    output.print(HELP);
    return;
  }
  const stamp = stampRun();
  const rows: QuotasRow[] = [];
  for (const limit of options.limits) {
    for (const regions of options.regions) {
      for (const demand of options.demands) {
        signal.throwIfAborted();
        const row = { ...stamp, ...(await measure(limit, regions, demand, options.seed)) };
        rows.push(row);
        output.print(formatRow(row));
      }
    }
  }
  output.progress(`results: ${writeHistory(resultsDirectory(options.results, 'quotas'), rows)}`);
}

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

function parseOptions(argv: readonly string[]) {
  const text = { type: 'string' } as const;
  let values: {
    regions?: string;
    limits?: string;
    demand?: string;
    seed?: string;
    results?: string;
    help?: boolean;
  };
  try {
    const options = { regions: text, limits: text, demand: text, seed: text, results: text } as const;
    ({ values } = parseArgs({ args: [...argv], options: { ...options, help: { type: 'boolean' } } }));
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
  const numbers = (given: string | undefined, otherwise: readonly number[]) =>
    given?.split(',').map(Number) ?? otherwise;
  const regions = numbers(values.regions, REGIONS);
  const limits = numbers(values.limits, LIMITS);
  const demands = values.demand?.split(',') ?? DEMANDS;
  const seed = Number(values.seed ?? SEED);
  const isWhole = (value: number, least: number, most: number) =>
    Number.isInteger(value) && value >= least && value <= most;
  const mistakes = [
    ...(regions.every((value) => isWhole(value, 2, 5)) ? [] : ['--regions: whole numbers from 2 to 5']),
    ...(limits.every((value) => isWhole(value, 1, 1_000_000)) ? [] : ['--limits: whole numbers from 1 to 1000000']),
    ...demands.filter((name) => !DEMANDS.includes(name as Demand)).map((name) => `--demand: there is no ${name}`),
    ...(isWhole(seed, 0, 2 ** 31) ? [] : ['--seed: a whole number']),
  ];
  if (mistakes.length > 0) throw new UsageError(mistakes.join('\n'));
  const { results = '', help } = values;
  return { regions, limits, demands: demands as readonly Demand[], seed, results, help };
}
