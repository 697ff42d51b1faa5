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
import { measureMemory } from './memory.js';
import { flags, type SideBySideOptions } from './options.js';
import { chooseClient, measureScenario } from './scenario.js';
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
    const serveArguments = options.serveArguments.split(/\s+/).filter(Boolean);
    const [redis, ...quotadbs] = chooseContenders({ ...options, serveArguments });
    const contenders = [redis!, ...chooseValkey(options.valkey), ...quotadbs];
    const rows: ResultRow[] = [];
    const keep = (row: ResultRow) => {
      rows.push(row);
      run.keep(row);
    };
    await measureLoads(contenders, options, { ...run, keep });
    for (const workload of memoryWorkloads.filter(({ name }) => options.workload.includes(name))) {
      await measureMemoryRow(workload, contenders, options, { ...run, keep });
    }
    run.print(formatVerdict(rows));
  },
});

async function measureLoads(
  contenders: readonly Contender[],
  options: SideBySideOptions,
  run: BenchRun<ResultRow>,
): Promise<void> {
  const chosen = workloads.filter(({ name }) => options.workload.includes(name));
  if (chosen.length === 0) return;
  const servers: RunningServer[] = [];
  for (const contender of contenders) servers.push(await start(contender, options, run));
  for (const workload of chosen) {
    const client = chooseClient(workload, servers, options);
    for (const connections of options.connections) {
      for (const pipeline of options.pipeline) {
        run.progress(`${workload.name}, pipeline ${pipeline}, ${connections} connections`);
        const rounds = await measureScenario({ workload, pipeline, connections }, servers, client, options, run);
        const sides = servers.map((server, index) =>
          sideOf(server, workload.pattern(server.contender.kind), rounds[index]!),
        );
        const length = { warmupSeconds: options.warmup, operationsPerRound: options.requests };
        const secondsPerRound = options.requests > 0 ? 0 : options.seconds;
        const scenario = { pipeline, connections, client: client.name, ...length, secondsPerRound };
        run.keep(makeRow(run.stamp, { ...described(workload, options), ...scenario }, sides));
      }
    }
  }
  for (const server of servers) await server.stop();
}

/** Every round starts a fresh server: memory that was used once seldom goes back. */
async function measureMemoryRow(
  workload: MemoryWorkload,
  contenders: readonly Contender[],
  options: SideBySideOptions,
  run: BenchRun<ResultRow>,
): Promise<void> {
  const { keys, rounds } = options;
  run.progress(`${workload.name}, ${keys} keys`);
  const lastServers = new Map<Contender, RunningServer>();
  const measured = await byTurns(contenders, rounds, async (contender, round) => {
    const server = await start(contender, options, run);
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
  run.keep(makeRow(run.stamp, { ...described(workload, options), ...noLoad }, sides));
}

function described({ name, description }: MemoryWorkload, { smoke, keys, rounds }: SideBySideOptions) {
  return { workload: name, description, smoke, keys, rounds };
}

function start(contender: Contender, { keys, noLimits }: SideBySideOptions, run: BenchRun<ResultRow>) {
  run.signal.throwIfAborted();
  const inMemory = { redis: ['--appendonly', 'no'], quotadb: ['--memory', ...memoryFor(keys)] };
  return startContender(contender, inMemory, !noLimits, run.cleanup);
}
