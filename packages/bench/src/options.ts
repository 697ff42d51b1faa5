import { Flags, type FlagTable, helpText, sharedFlags, sharedSwitches } from './flags.js';
import { MAX_KEYS } from './load/request.js';
import { type MemoryWorkload, memoryWorkloads, type Workload, workloads } from './workloads.js';

/** The command line of `quotadb bench`. */
export interface BenchOptions {
  readonly workloads: readonly Workload[];
  readonly memoryWorkloads: readonly MemoryWorkload[];
  readonly pipelines: readonly number[];
  readonly connections: readonly number[];
  readonly requests: number;
  readonly seconds: number;
  readonly warmupSeconds: number;
  readonly rounds: number;
  readonly keys: number;
  /** Empty: QuotaDB's own default, as one side. */
  readonly lanes: readonly number[];
  readonly serveArguments: readonly string[];
  readonly client: string;
  readonly redis: string;
  readonly valkey: string;
  readonly quotadb: string;
  readonly json: string;
  readonly results: string;
  readonly smoke: boolean;
  readonly halfLoad: boolean;
  readonly limits: boolean;
  readonly help: boolean;
}

const names = [...workloads, ...memoryWorkloads].map((workload) => workload.name);
const clients = ['own', 'redis-benchmark'];

const table = {
  texts: {
    workload: {
      placeholder: 'NAME,…',
      default: 'incr-uniform,get,memory,memory-expiring',
      smoke: 'all',
      help: `what to measure; all, or any of ${names.join(', ')}`,
    },
    pipeline: {
      placeholder: 'N,…',
      default: '1,16,64',
      smoke: '1,16',
      help: 'requests sent before waiting for replies',
    },
    connections: { placeholder: 'N,…', default: '50', smoke: '5', help: 'clients at once' },
    seconds: { placeholder: 'S', default: '3', smoke: '0.1', help: 'length of a round' },
    requests: { placeholder: 'N', default: '0', help: 'operations of a round, instead of a length in seconds' },
    warmup: { placeholder: 'S', default: '0.5', smoke: '0.05', help: 'seconds of load before each round counts' },
    rounds: sharedFlags.rounds,
    keys: { placeholder: 'N', default: '1000000', smoke: '10000', help: 'keys in the store' },
    lanes: { placeholder: 'N,…', default: '', help: 'threads of QuotaDB; each number becomes a side of its own' },
    'serve-arguments': {
      placeholder: 'TEXT',
      default: '',
      help: 'more for quotadb serve: --serve-arguments="--flag …"',
    },
    client: { placeholder: 'NAME', default: 'own', help: `load generator: ${clients.join(' or ')} (where it can)` },
    redis: sharedFlags.redis,
    valkey: { placeholder: 'PATH', default: '', help: 'valkey-server; looked for on the PATH, left out if not there' },
    quotadb: sharedFlags.quotadb,
    json: { placeholder: 'FILE', default: '', help: 'write the rows of this run to a file, as one JSON array' },
    results: sharedFlags.results,
  },
  switches: {
    'no-half-load': 'leave out the latencies at half load',
    ...sharedSwitches,
    smoke: `a minute at most, ${sharedSwitches.smoke}`,
  },
} satisfies FlagTable;

export function parseOptions(argv: readonly string[]): BenchOptions {
  const flags = new Flags(table, argv);
  const chosen = flags.text('workload') === 'all' ? names : flags.list('workload');
  for (const name of chosen) {
    if (!names.includes(name)) flags.mistakes.push(`--workload: there is no "${name}"; there is ${names.join(', ')}`);
  }
  if (!clients.includes(flags.text('client'))) flags.mistakes.push(`--client: must be ${clients.join(' or ')}`);
  const requests = flags.number('requests', 0, 10_000_000_000);
  const options: BenchOptions = {
    workloads: workloads.filter((workload) => chosen.includes(workload.name)),
    memoryWorkloads: memoryWorkloads.filter((workload) => chosen.includes(workload.name)),
    pipelines: flags.numbers('pipeline', 1, 1024),
    connections: flags.numbers('connections', 1, 10_000),
    requests,
    seconds: requests > 0 ? 0 : flags.number('seconds', 0.01, 3600, false),
    warmupSeconds: flags.number('warmup', 0, 3600, false),
    rounds: flags.number('rounds', 1, 1000),
    keys: flags.number('keys', 1, MAX_KEYS),
    lanes: flags.numbers('lanes', 1, 1024),
    serveArguments: flags.text('serve-arguments').split(/\s+/).filter(Boolean),
    client: flags.text('client'),
    redis: flags.text('redis'),
    valkey: flags.text('valkey'),
    quotadb: flags.text('quotadb'),
    json: flags.text('json'),
    results: flags.text('results'),
    smoke: flags.isOn('smoke'),
    halfLoad: !flags.isOn('no-half-load'),
    limits: !flags.isOn('no-limits'),
    help: flags.isOn('help'),
  };
  flags.check();
  return options;
}

const USAGE = [
  'quotadb bench [flags]          measure QuotaDB side by side with Redis on this machine',
  'quotadb bench counts [flags]   the counts API beside a service with one statement per request; see counts --help',
  'quotadb bench durability       what the disk costs, beside Redis with its append-only file; see durability --help',
  'quotadb bench replication      what three regions cost and how far they are apart; see replication --help',
  'quotadb bench report [flags]   write docs/benchmarks.md from the history; flags: --results DIR, --docs DIR',
  'quotadb bench limits           the rate limiter, window stores and clients, each beside others; see limits --help',
  'quotadb bench quotas           how much of a limit is allowed across regions (simulated); see quotas --help',
  'quotadb bench steps            what each step of an increment costs, without a network',
];

export function benchHelpText(): string {
  const entries = [...workloads, ...memoryWorkloads].map(({ name, description }) => [name, description] as const);
  return helpText(USAGE, table, { title: 'Workloads', entries });
}
