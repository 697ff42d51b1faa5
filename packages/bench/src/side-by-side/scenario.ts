import type { BenchRun } from '../command-line/suite.js';
import { type LoadJob, loadJob } from '../load/load-job.js';
import { runLoad } from '../load/run-load.js';
import { byTurns, fullLoadRound, halfLoadRound } from '../measure/rounds.js';
import type { Round } from '../results/measures.js';
import { BASELINE, OWN_CLIENT, type ResultRow } from '../results/row.js';
import { median } from '../results/summary.js';
import { ask } from '../servers/ask.js';
import type { RunningServer } from '../servers/contenders.js';
import { fill } from '../servers/fill.js';
import { redisBenchmarkCommand, runRedisBenchmark } from './redis-benchmark.js';
import type { Workload } from './workloads.js';

export interface Scenario {
  readonly workload: Workload;
  readonly pipeline: number;
  readonly connections: number;
}

export interface LoadSettings {
  readonly keys: number;
  readonly rounds: number;
  readonly warmupSeconds: number;
  /** 0 where a round ends by its number of operations. */
  readonly seconds: number;
  readonly operations: number;
  readonly halfLoad: boolean;
  /** Whether the servers are held to 2 CPUs and 2 GiB. */
  readonly limits: boolean;
  readonly smoke: boolean;
  /** Undefined: our own generator. */
  readonly redisBenchmark: string | undefined;
}

const REDIS_BENCHMARK_CLIENT = 'redis-benchmark';

/** Which client sends a workload: the same for all sides, so redis-benchmark only where it can serve them all. */
export function clientFor(workload: Workload, servers: readonly RunningServer[], settings: LoadSettings): string {
  const everywhere = servers.every(
    (server) => redisBenchmarkCommand(workload.pattern(server.contender.kind), workload.keys) !== undefined,
  );
  return settings.redisBenchmark !== undefined && everywhere ? REDIS_BENCHMARK_CLIENT : OWN_CLIENT;
}

/**
 * Measures one scenario on all servers by turns (A B A B …), so that other work on the machine meets them alike:
 * first as fast as each will go, then all at half of Redis's throughput, where latencies can be compared.
 */
export async function measureScenario(
  scenario: Scenario,
  servers: readonly RunningServer[],
  settings: LoadSettings,
  { signal, progress }: BenchRun<ResultRow>,
): Promise<Round[][]> {
  for (const server of servers) {
    await fill(server, scenario.workload.dataset, settings.keys, signal);
    for (const command of scenario.workload.preparation?.(server.contender.kind) ?? []) {
      await ask(server.port, ...command);
    }
  }

  const client = clientFor(scenario.workload, servers, settings);
  const fullLoad = await byTurns(servers, settings.rounds, async (server, round) => {
    const job = jobOf(scenario, server, settings, round);
    const result =
      client === REDIS_BENCHMARK_CLIENT
        ? await runRedisBenchmark(settings.redisBenchmark!, job, signal)
        : await runLoad(job, signal);
    const measured = fullLoadRound(result);
    progress(`round ${round + 1}: ${server.contender.name} ${Math.round(measured.throughputPerSecond!)} operations/s`);
    return measured;
  });
  if (!settings.halfLoad) return fullLoad;

  const baseline = servers.findIndex((server) => server.contender.name === BASELINE);
  const operationsPerSecond = median(fullLoad[baseline]!.map((round) => round.throughputPerSecond!)) / 2;
  const halfLoadRounds = await byTurns(servers, settings.rounds, async (server, round) => {
    const job = { ...jobOf(scenario, server, settings, round), operationsPerSecond };
    const measured = halfLoadRound(await runLoad(job, signal));
    progress(`round ${round + 1} at half load: ${server.contender.name} p99 ${measured.halfLoadP99Ms} ms`);
    return measured;
  });
  return fullLoad.map((rounds, side) => rounds.map((round, index) => ({ ...round, ...halfLoadRounds[side]![index] })));
}

function jobOf(scenario: Scenario, server: RunningServer, settings: LoadSettings, round: number): LoadJob {
  const { workload, pipeline, connections } = scenario;
  return loadJob(server, {
    pattern: workload.pattern(server.contender.kind),
    keys: workload.keys,
    keyCount: settings.keys,
    // The same keys for all sides, other keys in every round.
    seed: round + 1,
    pipeline,
    connections,
    warmupMs: settings.warmupSeconds * 1000,
    measureMs: settings.seconds * 1000,
    measureOperations: settings.operations,
  });
}
