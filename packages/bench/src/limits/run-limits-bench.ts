import type { Output } from '../bench.js';
import type { Cleanup } from '../cleanup.js';
import { NoRedisError } from '../contenders.js';
import { Flags, type FlagTable, helpText, sharedFlags, sharedSwitches } from '../flags.js';
import { describeMachine, type MachineDescription } from '../machine/describe.js';
import { type RunStamp, resultsDirectory, stampRun } from '../results/environment.js';
import { writeHistory } from '../results/history.js';
import { findExecutable } from '../servers/find-executable.js';
import { findQuotaDB, startQuotaDB } from '../servers/quotadb.js';
import { startRedis } from '../servers/redis.js';
import { type Contest, measureContest, type SideResult } from './contest.js';
import { adapters, clients, decisions } from './contests.js';

/** One line of the history: a contest, and how every side did. */
export interface LimitsRow extends RunStamp {
  readonly machine: MachineDescription;
  readonly contest: string;
  readonly description: string;
  readonly secondsPerRound: number;
  readonly rounds: number;
  readonly sides: Readonly<Record<string, SideResult>>;
}

const contests = { decisions, adapters, clients } as const;
type ContestName = keyof typeof contests;

const table = {
  texts: {
    contest: { placeholder: 'NAME,…', default: Object.keys(contests).join(','), help: 'what to measure' },
    seconds: { placeholder: 'S', default: '2', help: 'length of a round' },
    rounds: sharedFlags.rounds,
    results: { ...sharedFlags.results, help: `${sharedFlags.results.help}/limits` },
  },
  switches: { help: sharedSwitches.help },
} satisfies FlagTable;

const USAGE =
  'quotadb bench limits [flags]   decisions of the rate limiter, window stores and clients, each beside others';

/** `quotadb bench limits`: what is measured here runs in this process; Redis and QuotaDB are started for it. */
export async function runLimitsBench(
  argv: readonly string[],
  cleanup: Cleanup,
  signal: AbortSignal,
  output: Output,
): Promise<void> {
  const options = parseOptions(argv);
  if (options.help) {
    output.print(helpText([USAGE], table));
    return;
  }
  const ports = await startServers(cleanup);
  const common = {
    ...stampRun(),
    machine: describeMachine(),
    secondsPerRound: options.seconds,
    rounds: options.rounds,
  };
  const rows: LimitsRow[] = [];
  for (const name of options.contests) {
    output.progress(`measuring ${name}`);
    const contest = await contests[name](ports, cleanup);
    const sides = await measureContest(contest, options, signal);
    rows.push({ ...common, contest: contest.name, description: contest.description, sides });
    output.print(formatContest(contest, sides));
  }
  output.progress(`results: ${writeHistory(resultsDirectory(options.results, 'limits'), rows)}`);
}

async function startServers(cleanup: Cleanup): Promise<{ redis: number; quotadb: number }> {
  const redisProgram = findExecutable('redis-server');
  if (redisProgram === undefined) throw new NoRedisError('There is no redis-server on this machine.');
  const quotadbProgram = findQuotaDB();
  if (quotadbProgram === undefined) throw new Error('the quotadb program was not found; build it');
  const redis = await startRedis('redis', redisProgram, false, cleanup);
  const quotadb = await startQuotaDB(quotadbProgram, ['--lanes', '1'], 0, false, cleanup);
  return { redis: redis.port, quotadb: quotadb.port };
}

function parseOptions(argv: readonly string[]) {
  const flags = new Flags(table, argv);
  const names = flags.list('contest');
  for (const name of names) if (!Object.hasOwn(contests, name)) flags.mistakes.push(`--contest: there is no ${name}`);
  const options = {
    contests: names as ContestName[],
    seconds: flags.number('seconds', 0.01, 3600, false),
    rounds: flags.number('rounds', 1, 1000),
    results: flags.text('results'),
    help: flags.isOn('help'),
  };
  flags.check();
  return options;
}

function formatContest({ name, description }: Contest, sides: Readonly<Record<string, SideResult>>): string {
  const lines = Object.entries(sides).map(([side, { operationsPerSecond, clientCpuMicrosecondsPerOperation }]) => {
    const rate = Math.round(operationsPerSecond.median).toLocaleString('en').padStart(12);
    return `  ${side.padEnd(36)} ${rate} operations/s   ${clientCpuMicrosecondsPerOperation.median.toFixed(3)} µs CPU here`;
  });
  return [`${name}: ${description}`, ...lines].join('\n');
}
