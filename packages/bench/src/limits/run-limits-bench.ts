import { parseArgs } from 'node:util';
import type { Output } from '../bench.js';
import type { Cleanup } from '../cleanup.js';
import { NoRedisError } from '../contenders.js';
import { describeMachine, type MachineDescription } from '../machine/describe.js';
import { UsageError } from '../options.js';
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

const HELP = `quotadb bench limits: decisions of the rate limiter, window stores and clients, each beside others
  --contest NAME,…   any of ${Object.keys(contests).join(', ')}; all if left out
  --seconds S        length of a round (2)
  --rounds N         rounds of each side; medians are compared (3)
  --results DIR      history of all runs; the repository's bench/results/limits`;

/** `quotadb bench limits`: what is measured here runs in this process; Redis and QuotaDB are started for it. */
export async function runLimitsBench(
  argv: readonly string[],
  cleanup: Cleanup,
  signal: AbortSignal,
  output: Output,
): Promise<void> {
  const options = parseOptions(argv);
  if (options.help) {
    output.print(HELP);
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
  const text = { type: 'string' } as const;
  let values: { contest?: string; seconds?: string; rounds?: string; results?: string; help?: boolean };
  try {
    const options = { contest: text, seconds: text, rounds: text, results: text, help: { type: 'boolean' } } as const;
    ({ values } = parseArgs({ args: [...argv], options }));
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
  const names = (values.contest ?? Object.keys(contests).join(',')).split(',');
  const unknown = names.filter((name) => !Object.hasOwn(contests, name));
  const seconds = Number(values.seconds ?? 2);
  const rounds = Number(values.rounds ?? 3);
  const mistakes = [
    ...unknown.map((name) => `--contest: there is no ${name}`),
    ...(seconds > 0 ? [] : ['--seconds: more than 0']),
    ...(Number.isInteger(rounds) && rounds > 0 ? [] : ['--rounds: a whole number from 1 on']),
  ];
  if (mistakes.length > 0) throw new UsageError(mistakes.join('\n'));
  return { contests: names as ContestName[], seconds, rounds, results: values.results ?? '', help: values.help };
}

function formatContest({ name, description }: Contest, sides: Readonly<Record<string, SideResult>>): string {
  const lines = Object.entries(sides).map(([side, { operationsPerSecond, clientCpuMicrosecondsPerOperation }]) => {
    const rate = Math.round(operationsPerSecond.median).toLocaleString('en').padStart(12);
    return `  ${side.padEnd(36)} ${rate} operations/s   ${clientCpuMicrosecondsPerOperation.median.toFixed(3)} µs CPU here`;
  });
  return [`${name}: ${description}`, ...lines].join('\n');
}
