import type { LoadJob, LoadResult } from '../load/load-job.js';
import { redisBenchmarkCommand, runRedisBenchmark } from '../load/redis-benchmark.js';
import { runLoad } from '../load/run-load.js';
import { BASELINE } from '../results/row.js';
import { median } from '../results/summary.js';
import { ask } from '../servers/ask.js';
import type { RunningServer } from '../servers/contender.js';
import type { Workload } from '../workloads.js';
import { fill } from './fill.js';
import type { Round } from './measures.js';

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
  /** Undefined: our own generator. */
  readonly redisBenchmark: string | undefined;
}

export const OWN_CLIENT = 'quotadb-bench';
const REDIS_BENCHMARK_CLIENT = 'redis-benchmark';

/** Which client sends a workload: the same for all sides, so redis-benchmark only where it can serve them all. */
export function clientFor(workload: Workload, servers: readonly RunningServer[], settings: LoadSettings): string {
  const everywhere = servers.every(
    (server) => redisBenchmarkCommand(workload.pattern(server.contender.kind), workload.keys) !== undefined,
  );
  return settings.redisBenchmark !== undefined && everywhere ? REDIS_BENCHMARK_CLIENT : OWN_CLIENT;
}

/**
 * Measures one scenario on all servers by turns (A B A B …), so that whatever else the machine is doing meets them
 * alike: first as fast as each will go, then all at half of what Redis managed, where latencies can be compared.
 */
export async function measureScenario(
  scenario: Scenario,
  servers: readonly RunningServer[],
  settings: LoadSettings,
  signal: AbortSignal,
  progress: (text: string) => void,
): Promise<Round[][]> {
  for (const server of servers) {
    await fill(server, scenario.workload.dataset, settings.keys, signal);
    for (const command of scenario.workload.preparation?.(server.contender.kind) ?? []) {
      await ask(server.port, ...command);
    }
  }

  const client = clientFor(scenario.workload, servers, settings);
  const fullLoad = await byTurns(servers, settings.rounds, async (server, round) => {
    const job = loadJob(scenario, server, settings, round, 0);
    const result =
      client === REDIS_BENCHMARK_CLIENT
        ? await runRedisBenchmark(settings.redisBenchmark!, job, signal)
        : await runLoad(job, signal);
    const measured = fullLoadRound(result);
    progress(`round ${round + 1}: ${server.contender.name} ${Math.round(measured.throughputPerSecond!)} operations/s`);
    return measured;
  });
  if (!settings.halfLoad) return fullLoad;

  const baseline = Math.max(
    0,
    servers.findIndex((server) => server.contender.name === BASELINE),
  );
  const halfLoad = median(fullLoad[baseline]!.map((round) => round.throughputPerSecond!)) / 2;
  const halfLoadRounds = await byTurns(servers, settings.rounds, async (server, round) => {
    const measured = halfLoadRound(await runLoad(loadJob(scenario, server, settings, round, halfLoad), signal));
    progress(`round ${round + 1} at half load: ${server.contender.name} p99 ${measured.halfLoadP99Ms} ms`);
    return measured;
  });
  return fullLoad.map((rounds, side) => rounds.map((round, index) => ({ ...round, ...halfLoadRounds[side]![index] })));
}

/** The rounds of each server, in the servers' order. */
export async function byTurns<Server>(
  servers: readonly Server[],
  rounds: number,
  measure: (server: Server, round: number) => Promise<Round>,
): Promise<Round[][]> {
  const measured: Round[][] = servers.map(() => []);
  for (let round = 0; round < rounds; round++) {
    for (const [index, server] of servers.entries()) measured[index]!.push(await measure(server, round));
  }
  return measured;
}

function loadJob(
  scenario: Scenario,
  server: RunningServer,
  settings: LoadSettings,
  round: number,
  operationsPerSecond: number,
): LoadJob {
  return {
    port: server.port,
    serverPid: server.pid,
    pattern: scenario.workload.pattern(server.contender.kind),
    keys: scenario.workload.keys,
    keyCount: settings.keys,
    // The same keys for all sides, other keys in every round.
    seed: round + 1,
    pipeline: scenario.pipeline,
    connections: scenario.connections,
    warmupMs: settings.warmupSeconds * 1000,
    measureMs: settings.seconds * 1000,
    measureOperations: settings.operations,
    operationsPerSecond,
  };
}

export function fullLoadRound(result: LoadResult): Round {
  return {
    throughputPerSecond: perSecond(result),
    ...ifKnown('serverCpuMicrosecondsPerOperation', result.serverCpuMicroseconds, result.operations),
    p50Ms: result.p50Ms,
    p99Ms: result.p99Ms,
    p999Ms: result.p999Ms,
    ...ifKnown('serverBusyCpus', result.serverCpuMicroseconds, result.elapsedMs * 1000),
    ...ifKnown('clientBusyCpus', result.clientCpuMicroseconds, result.elapsedMs * 1000),
  };
}

function halfLoadRound(result: LoadResult): Round {
  return {
    halfLoadPerSecond: perSecond(result),
    ...ifKnown('halfLoadServerCpuMicrosecondsPerOperation', result.serverCpuMicroseconds, result.operations),
    halfLoadP50Ms: result.p50Ms,
    halfLoadP99Ms: result.p99Ms,
    halfLoadP999Ms: result.p999Ms,
  };
}

function perSecond(result: LoadResult): number {
  return (result.operations * 1000) / result.elapsedMs;
}

function ifKnown(name: keyof Round, value: number | undefined, divisor: number): Round {
  return value === undefined ? {} : { [name]: value / divisor };
}
