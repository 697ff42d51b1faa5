import type { Cleanup } from './cleanup.js';
import { chooseContenders, findRedisBenchmark } from './contenders.js';
import { KEY_BYTES, type Request } from './load/request.js';
import { describeMachine } from './machine/describe.js';
import type { Round } from './measure/measures.js';
import { measureMemory } from './measure/memory.js';
import {
  byTurns,
  clientFor,
  type LoadSettings,
  measureScenario,
  OWN_CLIENT,
  type Scenario,
} from './measure/scenario.js';
import type { BenchOptions } from './options.js';
import { type RunStamp, stampRun } from './results/environment.js';
import { BASELINE, type ResultRow, type Side } from './results/row.js';
import { ratios, summarize } from './results/summary.js';
import { type Contender, type RunningServer, startContender } from './servers/contender.js';
import { fills, type MemoryWorkload } from './workloads.js';

export interface Output {
  /** Results. */
  print(text: string): void;
  /** What is going on meanwhile. */
  progress(text: string): void;
}

export type Common = RunStamp & Pick<ResultRow, 'machine' | 'smoke' | 'keys' | 'keyBytes' | 'rounds'>;

/** What all rows of a run have in common. */
export function commonOf({ smoke, keys, rounds }: Pick<ResultRow, 'smoke' | 'keys' | 'rounds'>): Common {
  return { ...stampRun(), machine: describeMachine(), smoke, keys, keyBytes: KEY_BYTES, rounds };
}

/** Measures everything that was asked for, and hands over each row as soon as it is complete. */
export async function measureAll(
  options: BenchOptions,
  cleanup: Cleanup,
  signal: AbortSignal,
  output: Output,
  onRow: (row: ResultRow) => void,
): Promise<void> {
  const run: Run = {
    options,
    contenders: chooseContenders(options),
    common: commonOf(options),
    cleanup,
    signal,
    output,
  };
  if (options.workloads.length > 0) await measureLoads(run, onRow);
  for (const workload of options.memoryWorkloads) onRow(await measureMemoryRow(run, workload));
}

interface Run {
  readonly options: BenchOptions;
  readonly contenders: readonly Contender[];
  readonly common: Common;
  readonly cleanup: Cleanup;
  readonly signal: AbortSignal;
  readonly output: Output;
}

async function measureLoads(run: Run, onRow: (row: ResultRow) => void): Promise<void> {
  const { options, contenders, common, cleanup, signal, output } = run;
  const settings: LoadSettings = {
    keys: options.keys,
    rounds: options.rounds,
    warmupSeconds: options.warmupSeconds,
    seconds: options.seconds,
    operations: options.requests,
    halfLoad: options.halfLoad,
    redisBenchmark: options.client === 'redis-benchmark' ? findRedisBenchmark(contenders[0]!.program) : undefined,
  };
  const servers: RunningServer[] = [];
  for (const contender of contenders) {
    signal.throwIfAborted();
    servers.push(await startContender(contender, options.keys, options.limits, cleanup));
  }
  for (const scenario of scenariosOf(options)) {
    const { workload, pipeline, connections } = scenario;
    output.progress(`${workload.name}, pipeline ${pipeline}, ${connections} connections`);
    const rounds = await measureScenario(scenario, servers, settings, signal, output.progress);
    onRow({
      ...common,
      workload: workload.name,
      description: workload.description,
      pipeline,
      connections,
      client: clientFor(workload, servers, settings),
      warmupSeconds: options.warmupSeconds,
      secondsPerRound: options.seconds,
      operationsPerRound: options.requests,
      ...compare(servers.map((server, index) => side(server, workload.pattern(server.contender.kind), rounds[index]!))),
    });
  }
  for (const server of servers) await server.stop();
}

function scenariosOf(options: BenchOptions): Scenario[] {
  return options.workloads.flatMap((workload) =>
    options.connections.flatMap((connections) =>
      options.pipelines.map((pipeline) => ({ workload, pipeline, connections })),
    ),
  );
}

/** Every round starts a fresh server: memory that was used once seldom goes back. */
async function measureMemoryRow(run: Run, workload: MemoryWorkload): Promise<ResultRow> {
  const { options, contenders, common, cleanup, signal, output } = run;
  output.progress(`${workload.name}, ${options.keys} keys`);
  const lastServers = new Map<Contender, RunningServer>();
  const rounds = await byTurns(contenders, options.rounds, async (contender, round) => {
    signal.throwIfAborted();
    const server = await startContender(contender, options.keys, options.limits, cleanup);
    lastServers.set(contender, server);
    const measured = await measureMemory(server, workload.dataset, options.keys, signal);
    await server.stop();
    output.progress(`round ${round + 1}: ${contender.name} ${measured.residentBytesPerKey?.toFixed(1)} bytes/key`);
    return measured;
  });
  return {
    ...common,
    workload: workload.name,
    description: workload.description,
    pipeline: 0,
    connections: 0,
    client: OWN_CLIENT,
    warmupSeconds: 0,
    secondsPerRound: 0,
    operationsPerRound: options.keys,
    ...compare(
      contenders.map((contender, index) => side(lastServers.get(contender)!, fills[workload.dataset], rounds[index]!)),
    ),
  };
}

export type NamedSide = Side & { readonly name: string };

export function side(server: RunningServer, pattern: readonly Request[], rounds: readonly Round[]): NamedSide {
  return {
    name: server.contender.name,
    kind: server.contender.kind,
    version: server.version,
    serveArguments: server.contender.serveArguments,
    limits: server.limits,
    commands: pattern.map((request) => request.map((command) => command.join(' ')).join('; ')).join(' | '),
    measures: summarize(rounds),
  };
}

export function compare(sides: readonly NamedSide[]): Pick<ResultRow, 'sides' | 'ratiosToRedis'> {
  const baseline = sides.find(({ name }) => name === BASELINE)!;
  const others = sides.filter(({ name }) => name !== BASELINE);
  return {
    sides: Object.fromEntries(sides.map(({ name, ...rest }) => [name, rest])),
    ratiosToRedis: Object.fromEntries(others.map(({ name, measures }) => [name, ratios(measures, baseline.measures)])),
  };
}
