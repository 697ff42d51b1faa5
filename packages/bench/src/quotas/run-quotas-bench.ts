import { DELAY_MS, DEMANDS, type Demand, LIMITERS, measureDemand } from '@quotadb/simulator';
import type { Output } from '../bench.js';
import { Flags, type FlagTable, helpText, sharedFlags, sharedSwitches } from '../flags.js';
import { resultsDirectory, stampRun } from '../results/environment.js';
import { writeHistory } from '../results/history.js';
import type { Admission, QuotasRow } from './row.js';

const table = {
  texts: {
    regions: { placeholder: 'N,…', default: '2,3,4,5', help: 'how many regions' },
    limits: { placeholder: 'N,…', default: '100,10000', help: 'the limits' },
    demand: { placeholder: 'NAME,…', default: DEMANDS.join(','), help: 'who asks for how much' },
    seed: { placeholder: 'N', default: '1', help: 'the same seed, the same figures' },
    results: { ...sharedFlags.results, help: `${sharedFlags.results.help}/quotas` },
  },
  switches: { help: sharedSwitches.help },
} satisfies FlagTable;

const USAGE =
  'quotadb bench quotas [flags]   how much of a limit is allowed across regions, beside counters in each (simulated network)';

/** `quotadb bench quotas`: over-admission and utilisation. Nothing here depends on how fast the machine is. */
export async function runQuotasBench(argv: readonly string[], signal: AbortSignal, output: Output): Promise<void> {
  const options = parseOptions(argv);
  if (options.help) {
    output.print(helpText([USAGE], table));
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
  const flags = new Flags(table, argv);
  const options = {
    regions: flags.numbers('regions', 2, 5),
    limits: flags.numbers('limits', 1, 1_000_000),
    demands: flags.list('demand') as Demand[],
    seed: flags.number('seed', 0, 2 ** 31),
    results: flags.text('results'),
    help: flags.isOn('help'),
  };
  const unknown = options.demands.filter((name) => !DEMANDS.includes(name));
  flags.mistakes.push(...unknown.map((name) => `--demand: there is no ${name}`));
  flags.check();
  return options;
}
