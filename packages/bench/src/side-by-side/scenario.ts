import type { BenchRun } from '../command-line/suite.js';
import { type LoadJob, loadJob } from '../load/load-job.js';
import { runLoad } from '../load/run-load.js';
import { byTurns, fullLoadRound, halfLoadRound } from '../measure/rounds.js';
import type { Round } from '../results/measures.js';
import { BASELINE, type ResultRow } from '../results/row.js';
import { median } from '../results/summary.js';
import { ask } from '../servers/ask.js';
import type { RunningServer } from '../servers/contenders.js';
import { fill } from '../servers/fill.js';
import type { LoadClient } from './clients.js';
import type { SideBySideOptions } from './options.js';
import type { Workload } from './workloads.js';

export interface Scenario {
  readonly workload: Workload;
  readonly keys: number;
  readonly pipeline: number;
  readonly connections: number;
}

/**
 * Measures one scenario: first as fast as each server will go, then all at half of Redis's throughput, where latencies
 * can be compared. Returns the rounds of each server.
 */
export async function measureScenario(
  scenario: Scenario,
  servers: readonly RunningServer[],
  client: LoadClient,
  options: SideBySideOptions,
  { signal, progress }: BenchRun<ResultRow>,
): Promise<Round[][]> {
  const { workload } = scenario;
  for (const server of servers) {
    await fill(server, workload.dataset, scenario.keys, signal);
    for (const command of workload.preparation?.(server.contender.kind) ?? []) await ask(server.port, ...command);
  }
  const fullLoad = await byTurns(servers, options.rounds, async (server, round) => {
    const measured = fullLoadRound(await client.load(jobOf(scenario, server, options, round), signal));
    progress(`round ${round + 1}: ${server.name} ${Math.round(measured.throughputPerSecond!)} operations/s`);
    return measured;
  });
  if (options.noHalfLoad) return fullLoad;

  const baseline = servers.findIndex(({ name }) => name === BASELINE);
  const operationsPerSecond = median(fullLoad[baseline]!.map((round) => round.throughputPerSecond!)) / 2;
  const halfLoad = await byTurns(servers, options.rounds, async (server, round) => {
    const job = { ...jobOf(scenario, server, options, round), operationsPerSecond };
    const measured = halfLoadRound(await runLoad(job, signal));
    progress(`round ${round + 1} at half load: ${server.name} p99 ${measured.halfLoadP99Ms} ms`);
    return measured;
  });
  return fullLoad.map((rounds, side) => rounds.map((round, index) => ({ ...round, ...halfLoad[side]![index] })));
}

function jobOf(scenario: Scenario, server: RunningServer, options: SideBySideOptions, round: number): LoadJob {
  const { workload, keys, pipeline, connections } = scenario;
  return loadJob(server, {
    pattern: workload.pattern(server.contender.kind),
    keys: workload.keys,
    keyCount: keys,
    // The same keys for all sides, other keys in every round.
    seed: round + 1,
    pipeline,
    connections,
    warmupMs: options.warmup * 1000,
    measureMs: options.requests > 0 ? 0 : options.seconds * 1000,
    measureOperations: options.requests,
  });
}
