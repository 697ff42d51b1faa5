import { names, seconds } from '../command-line/flags.js';
import { type BenchRun, defineSuite, sharedFlags } from '../command-line/suite.js';
import { describeMachine } from '../machine/describe.js';
import type { LimitsRatio, LimitsRow } from '../results/limits-row.js';
import { requireQuotaDB, startQuotaDB } from '../servers/quotadb.js';
import { requireRedis, startRedis } from '../servers/redis.js';
import { commands } from './commands.js';
import { measureContest, ratiosOf } from './contest.js';
import { adapters, clients, decisions } from './contests.js';
import { scripts } from './scripts.js';

const contests = { commands, decisions, adapters, clients, scripts } as const;
const contestNames = Object.keys(contests) as (keyof typeof contests)[];

const flags = {
  contest: names('the comparisons to measure', contestNames, contestNames.join(',')),
  seconds: seconds('length of a round', [0.01, 3600], '2'),
  rounds: sharedFlags.rounds,
};

/** `quotadb bench limits`: the measured clients run in this process; Redis and QuotaDB are started for them. */
export const limits = defineSuite({
  name: 'limits',
  summary: 'limit commands beside INCR; the rate limiter, stores, clients and scripts of libraries, each beside others',
  flags,
  rows: { folder: 'limits', format: formatContest },
  async run(options, run: BenchRun<LimitsRow>) {
    const redisProgram = requireRedis();
    const quotadbProgram = requireQuotaDB();
    const redis = await startRedis('redis', redisProgram, ['--appendonly', 'no'], false, run.cleanup);
    const serve = ['--memory', '--lanes', '1'];
    const quotadb = await startQuotaDB({ program: quotadbProgram, flags: serve }, run.cleanup);
    const servers = { redis, quotadb };
    const machine = describeMachine();
    const { seconds: secondsPerRound, rounds } = options;
    for (const name of options.contest) {
      run.progress(`measuring ${name}`);
      const contest = await contests[name](servers, run.cleanup);
      const sides = await measureContest(contest, options, run.signal);
      const ratios = ratiosOf(contest, sides);
      const what = { contest: contest.name, description: contest.description, limits: quotadb.limits };
      run.keep({ ...run.stamp, machine, secondsPerRound, rounds, ...what, sides, ...(ratios && { ratios }) });
    }
  },
});

function formatContest({ contest, description, sides, ratios }: LimitsRow): string {
  const lines = Object.entries(sides).map(([side, figures]) => {
    const rate = Math.round(figures.operationsPerSecond.median).toLocaleString('en').padStart(12);
    const { serverCpuMicrosecondsPerOperation: server } = figures;
    const cpu =
      server === undefined
        ? `${figures.clientCpuMicrosecondsPerOperation.median.toFixed(3)} µs CPU here`
        : `${server.median.toFixed(2)} µs CPU of the server`;
    return `  ${side.padEnd(48)} ${rate} operations/s   ${cpu}${ratioText(ratios?.[side])}`;
  });
  return [`${contest}: ${description}`, ...lines].join('\n');
}

function ratioText(ratio: LimitsRatio | undefined): string {
  const cpu = ratio?.serverCpuMicrosecondsPerOperation;
  return cpu === undefined ? '' : ` (${cpu.toFixed(2)}x ${ratio!.to})`;
}
