import { type BenchRun, defineSuite } from '../command-line/suite.js';
import { byTurns, sideOf } from '../measure/rounds.js';
import { formatRow } from '../report/table.js';
import { formatVerdict } from '../report/verdict.js';
import { makeRow, type ResultRow } from '../results/row.js';
import {
  type Contender,
  chooseContenders,
  chooseValkey,
  memoryFor,
  type RunningServer,
  startContender,
} from '../servers/contenders.js';
import { fills } from '../servers/fill.js';
import { chooseClients, type LoadClient } from './clients.js';
import { measureMemory } from './memory.js';
import { flags, type SideBySideOptions } from './options.js';
import { measureScenario, type Scenario } from './scenario.js';
import { type MemoryWorkload, memoryWorkloads, workloads } from './workloads.js';

/** `quotadb bench`: the same load to QuotaDB and Redis, neither with a disk, and the memory their keys take. */
export const sideBySide = defineSuite({
  name: '',
  summary: 'measure QuotaDB side by side with Redis on this machine',
  flags,
  appendix: {
    title: 'Workloads',
    entries: [...workloads, ...memoryWorkloads].map(({ name, description }) => [name, description]),
  },
  rows: { folder: '', format: formatRow },
  async run(options, run: BenchRun<ResultRow>) {
    run.print(formatVerdict(await measureSideBySide(options, run)));
  },
});

/** Every scenario that the options ask for, and its row. */
export async function measureSideBySide(options: SideBySideOptions, run: BenchRun<ResultRow>): Promise<ResultRow[]> {
  const serveArguments = options.serveArguments.split(/\s+/).filter(Boolean);
  const [redis, ...quotadbs] = chooseContenders({ ...options, serveArguments });
  const contenders = [redis!, ...chooseValkey(options.valkey), ...quotadbs];
  const rows: ResultRow[] = [];
  const keep = (row: ResultRow) => {
    rows.push(row);
    run.keep(row);
  };
  for (const keys of options.keys) {
    await measureLoads(contenders, keys, options, { ...run, keep });
    for (const workload of memoryWorkloads.filter(({ name }) => options.workload.includes(name))) {
      await measureMemoryRow(workload, contenders, keys, options, { ...run, keep });
    }
  }
  return rows;
}

async function measureLoads(
  contenders: readonly Contender[],
  keys: number,
  options: SideBySideOptions,
  run: BenchRun<ResultRow>,
): Promise<void> {
  const chosen = workloads.filter(({ name }) => options.workload.includes(name));
  if (chosen.length === 0) return;
  const servers: RunningServer[] = [];
  for (const contender of contenders) servers.push(await start(contender, keys, options, run));
  for (const workload of chosen) {
    for (const client of chooseClients(workload, servers, options.client)) {
      for (const connections of options.connections) {
        for (const pipeline of options.pipeline) {
          await measureRow({ workload, keys, pipeline, connections }, servers, client, options, run);
        }
      }
    }
  }
  for (const server of servers) await server.stop();
}

async function measureRow(
  scenario: Scenario,
  servers: readonly RunningServer[],
  client: LoadClient,
  options: SideBySideOptions,
  run: BenchRun<ResultRow>,
): Promise<void> {
  const { workload, keys, pipeline, connections } = scenario;
  run.progress(`${workload.name}, ${keys} keys, pipeline ${pipeline}, ${connections} connections, ${client.name}`);
  const rounds = await measureScenario(scenario, servers, client, options, run);
  const sides = servers.map((server, index) => sideOf(server, workload.pattern(server.contender.kind), rounds[index]!));
  const length = {
    warmupSeconds: options.warmup,
    secondsPerRound: options.requests > 0 ? 0 : options.seconds,
    operationsPerRound: options.requests,
  };
  const load = { pipeline, connections, client: client.name, ...length };
  run.keep(makeRow(run.stamp, { ...described(workload, keys, options), ...load }, sides));
}

/** Every round starts a fresh server: memory that was used once seldom goes back. */
async function measureMemoryRow(
  workload: MemoryWorkload,
  contenders: readonly Contender[],
  keys: number,
  options: SideBySideOptions,
  run: BenchRun<ResultRow>,
): Promise<void> {
  run.progress(`${workload.name}, ${keys} keys`);
  const lastServers = new Map<Contender, RunningServer>();
  const measured = await byTurns(contenders, options.rounds, async (contender, round) => {
    const server = await start(contender, keys, options, run);
    lastServers.set(contender, server);
    const figures = await measureMemory(server, workload.dataset, keys, run.signal);
    await server.stop();
    run.progress(`round ${round + 1}: ${contender.name} ${figures.residentBytesPerKey?.toFixed(1)} bytes/key`);
    return figures;
  });
  const sides = contenders.map((contender, index) =>
    sideOf(lastServers.get(contender)!, fills[workload.dataset], measured[index]!),
  );
  const noLoad = { pipeline: 0, connections: 0, warmupSeconds: 0, secondsPerRound: 0, operationsPerRound: keys };
  run.keep(makeRow(run.stamp, { ...described(workload, keys, options), ...noLoad }, sides));
}

function described({ name, description }: MemoryWorkload, keys: number, { smoke, rounds }: SideBySideOptions) {
  return { workload: name, description, smoke, keys, rounds };
}

function start(contender: Contender, keys: number, { noLimits }: SideBySideOptions, run: BenchRun<ResultRow>) {
  run.signal.throwIfAborted();
  const inMemory = { redis: ['--appendonly', 'no'], quotadb: ['--memory', ...memoryFor(keys)] };
  return startContender(contender, inMemory, !noLimits, run.cleanup);
}
