import { choice, integer, integers, names, seconds, text, toggle } from '../command-line/flags.js';
import { type BenchRun, defineSuite, sharedFlags } from '../command-line/suite.js';
import { MAX_KEYS } from '../load/request.js';
import { byTurns, sideOf } from '../measure/rounds.js';
import { formatRow } from '../report/table.js';
import { formatVerdict } from '../report/verdict.js';
import { makeRow, type ResultRow } from '../results/row.js';
import {
  type Contender,
  chooseContenders,
  chooseValkey,
  type RunningServer,
  startContender,
} from '../servers/contenders.js';
import { fills } from '../servers/fill.js';
import { measureMemory } from './memory.js';
import { findRedisBenchmark } from './redis-benchmark.js';
import { clientFor, type LoadSettings, measureScenario } from './scenario.js';
import { type MemoryWorkload, memoryWorkloads, workloads } from './workloads.js';

const all = [...workloads, ...memoryWorkloads];
const workloadNames = all.map(({ name }) => name);

/** Of the 2 GiB a limited server has, QuotaDB keeps keys in this much: the rest is for its code and its clients. */
const MEMORY_FOR_MANY_KEYS = '1536mb';
/** Above this the server's default may be too small. */
const KEYS_FOR_DEFAULT_MEMORY = 2_000_000;

const flags = {
  workload: names(
    workloadNames,
    {
      default: 'incr-uniform,get,memory,memory-expiring',
      smoke: 'all',
      help: 'the workloads to measure, of those below, or all',
    },
    { all: workloadNames },
  ),
  pipeline: integers([1, 1024], {
    default: '1,16,64',
    smoke: '1,16',
    help: 'requests sent before waiting for replies',
  }),
  connections: integers([1, 10_000], { default: '50', smoke: '5', help: 'clients at once' }),
  seconds: seconds([0.01, 3600], { default: '3', smoke: '0.1', help: 'length of a round' }),
  requests: integer([0, 10_000_000_000], {
    default: '0',
    help: 'operations of a round, instead of a length in seconds',
  }),
  warmup: seconds([0, 3600], { default: '0.5', smoke: '0.05', help: 'seconds of load before each round counts' }),
  rounds: sharedFlags.rounds,
  keys: integer([1, MAX_KEYS], { default: '1000000', smoke: '10000', help: 'keys in the store' }),
  lanes: integers([1, 1024], { help: 'threads of QuotaDB; each number becomes a side of its own' }),
  serveArguments: text('TEXT', 'more flags for quotadb serve: --serve-arguments="--flag …"'),
  client: choice(['own', 'redis-benchmark'], {
    default: 'own',
    help: 'load generator: own, or redis-benchmark for the workloads it can send',
  }),
  redis: sharedFlags.redis,
  valkey: text('PATH', 'valkey-server; looked for on the PATH, left out if not there'),
  quotadb: sharedFlags.quotadb,
  noHalfLoad: toggle('leave out the latencies at half load'),
  noLimits: sharedFlags.noLimits,
  smoke: sharedFlags.smoke,
};

/** `quotadb bench`: the same load to QuotaDB and Redis, neither with a disk, and the memory their keys take. */
export const sideBySide = defineSuite({
  name: '',
  summary: 'measure QuotaDB side by side with Redis on this machine',
  flags,
  appendix: { title: 'Workloads', entries: all.map(({ name, description }) => [name, description]) },
  rows: { folder: '', format: formatRow },
  async run(options, run: BenchRun<ResultRow>) {
    const [redis, ...quotadbs] = chooseContenders({
      ...options,
      serveArguments: options.serveArguments.split(/\s+/).filter(Boolean),
    });
    const contenders = [redis!, ...chooseValkey(options.valkey), ...quotadbs];
    const settings: LoadSettings = {
      keys: options.keys,
      rounds: options.rounds,
      warmupSeconds: options.warmup,
      seconds: options.requests > 0 ? 0 : options.seconds,
      operations: options.requests,
      halfLoad: !options.noHalfLoad,
      limits: !options.noLimits,
      smoke: options.smoke,
      redisBenchmark: options.client === 'redis-benchmark' ? findRedisBenchmark(redis!.program) : undefined,
    };
    const rows: ResultRow[] = [];
    const keepRow = (row: ResultRow) => {
      rows.push(row);
      run.keep(row);
    };
    const scenarios = workloads
      .filter(({ name }) => options.workload.includes(name))
      .flatMap((workload) =>
        options.connections.flatMap((connections) =>
          options.pipeline.map((pipeline) => ({ workload, pipeline, connections })),
        ),
      );
    if (scenarios.length > 0) {
      const servers: RunningServer[] = [];
      for (const contender of contenders) servers.push(await start(contender, settings, run));
      for (const scenario of scenarios) {
        const { workload, pipeline, connections } = scenario;
        run.progress(`${workload.name}, pipeline ${pipeline}, ${connections} connections`);
        const rounds = await measureScenario(scenario, servers, settings, run);
        const how = { pipeline, connections, client: clientFor(workload, servers, settings) };
        const sides = servers.map((server, index) =>
          sideOf(server, workload.pattern(server.contender.kind), rounds[index]!),
        );
        keepRow(makeRow(run.stamp, { ...described(workload, settings), ...how }, sides));
      }
      for (const server of servers) await server.stop();
    }
    for (const workload of memoryWorkloads.filter(({ name }) => options.workload.includes(name))) {
      keepRow(await measureMemoryRow(workload, contenders, settings, run));
    }
    run.print(formatVerdict(rows));
  },
});

function described({ name, description }: MemoryWorkload, settings: LoadSettings) {
  const { smoke, keys, rounds, warmupSeconds, seconds: secondsPerRound, operations: operationsPerRound } = settings;
  return {
    ...{ workload: name, description, smoke, keys, rounds },
    ...{ warmupSeconds, secondsPerRound, operationsPerRound },
  };
}

/** Every round starts a fresh server: memory that was used once seldom goes back. */
async function measureMemoryRow(
  workload: MemoryWorkload,
  contenders: readonly Contender[],
  settings: LoadSettings,
  run: BenchRun<ResultRow>,
): Promise<ResultRow> {
  const { keys, rounds } = settings;
  run.progress(`${workload.name}, ${keys} keys`);
  const lastServers = new Map<Contender, RunningServer>();
  const measured = await byTurns(contenders, rounds, async (contender, round) => {
    const server = await start(contender, settings, run);
    lastServers.set(contender, server);
    const figures = await measureMemory(server, workload.dataset, keys, run.signal);
    await server.stop();
    run.progress(`round ${round + 1}: ${contender.name} ${figures.residentBytesPerKey?.toFixed(1)} bytes/key`);
    return figures;
  });
  const noLoad = { pipeline: 0, connections: 0, warmupSeconds: 0, secondsPerRound: 0, operationsPerRound: keys };
  const sides = contenders.map((contender, index) =>
    sideOf(lastServers.get(contender)!, fills[workload.dataset], measured[index]!),
  );
  return makeRow(run.stamp, { ...described(workload, settings), ...noLoad }, sides);
}

function start(contender: Contender, { keys, limits }: LoadSettings, run: BenchRun<ResultRow>) {
  run.signal.throwIfAborted();
  const memory = keys > KEYS_FOR_DEFAULT_MEMORY ? ['--max-memory', MEMORY_FOR_MANY_KEYS] : [];
  const inMemory = { redis: ['--appendonly', 'no'], quotadb: ['--memory', ...memory] };
  return startContender(contender, inMemory, limits, run.cleanup);
}
