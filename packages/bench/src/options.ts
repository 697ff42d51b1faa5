import { parseArgs } from 'node:util';
import { MAX_KEYS } from './load/request.js';
import { type MemoryWorkload, memoryWorkloads, type Workload, workloads } from './workloads.js';

/** The command line of `quotadb bench`, as one table: flag, default, the default of a smoke run, bounds, help. */
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

/** Mistakes in the command line, all of them. */
export class UsageError extends Error {}

const names = [...workloads, ...memoryWorkloads].map((workload) => workload.name);
const clients = ['own', 'redis-benchmark'];

interface TextFlag {
  readonly placeholder: string;
  readonly default: string;
  readonly smoke?: string;
  readonly help: string;
}

const textFlags = {
  workload: {
    placeholder: 'NAME,…',
    default: 'incr-uniform,get,memory,memory-expiring',
    smoke: 'all',
    help: `what to measure; all, or any of ${names.join(', ')}`,
  },
  pipeline: { placeholder: 'N,…', default: '1,16,64', smoke: '1,16', help: 'requests sent before waiting for replies' },
  connections: { placeholder: 'N,…', default: '50', smoke: '5', help: 'clients at once' },
  seconds: { placeholder: 'S', default: '3', smoke: '0.1', help: 'length of a round' },
  requests: { placeholder: 'N', default: '0', help: 'operations of a round, instead of a length in seconds' },
  warmup: { placeholder: 'S', default: '0.5', smoke: '0.05', help: 'seconds of load before each round counts' },
  rounds: { placeholder: 'N', default: '3', smoke: '1', help: 'rounds of each side; medians are compared' },
  keys: { placeholder: 'N', default: '1000000', smoke: '10000', help: 'keys in the store' },
  lanes: { placeholder: 'N,…', default: '', help: 'threads of QuotaDB; each number becomes a side of its own' },
  'serve-arguments': { placeholder: 'TEXT', default: '', help: 'more for quotadb serve: --serve-arguments="--flag …"' },
  client: { placeholder: 'NAME', default: 'own', help: `load generator: ${clients.join(' or ')} (where it can)` },
  redis: { placeholder: 'PATH', default: '', help: 'redis-server; looked for on the PATH' },
  valkey: { placeholder: 'PATH', default: '', help: 'valkey-server; looked for on the PATH, left out if not there' },
  quotadb: { placeholder: 'PATH', default: '', help: 'the quotadb program to measure; this one unless given' },
  json: { placeholder: 'FILE', default: '', help: 'write the rows of this run to a file, as one JSON array' },
  results: { placeholder: 'DIR', default: '', help: "history of all runs; the repository's bench/results" },
} as const satisfies Record<string, TextFlag>;

const switches = {
  smoke: 'a minute at most, to see that everything works; its figures mean nothing and are not kept',
  'no-half-load': 'leave out the latencies at half load',
  'no-limits': `do not hold the servers to 2 CPUs and 2 GiB`,
  help: 'this text',
} as const;

export function parseOptions(argv: readonly string[]): BenchOptions {
  const given = readFlags(argv);
  const mistakes: string[] = [];
  const text = (flag: keyof typeof textFlags): string => {
    const declared: TextFlag = textFlags[flag];
    return given.texts[flag] ?? (given.switches.smoke ? (declared.smoke ?? declared.default) : declared.default);
  };
  const number = (flag: keyof typeof textFlags, minimum: number, maximum: number, whole = true) =>
    numberIn(flag, text(flag), minimum, maximum, whole, mistakes);
  const numbers = (flag: keyof typeof textFlags, minimum: number, maximum: number) =>
    listOf(text(flag)).map((item) => numberIn(flag, item, minimum, maximum, true, mistakes));

  const chosen = text('workload') === 'all' ? names : listOf(text('workload'));
  for (const name of chosen) {
    if (!names.includes(name)) mistakes.push(`--workload: there is no "${name}"; there is ${names.join(', ')}`);
  }
  if (!clients.includes(text('client'))) mistakes.push(`--client: must be ${clients.join(' or ')}`);
  const requests = number('requests', 0, 10_000_000_000);
  const options: BenchOptions = {
    workloads: workloads.filter((workload) => chosen.includes(workload.name)),
    memoryWorkloads: memoryWorkloads.filter((workload) => chosen.includes(workload.name)),
    pipelines: numbers('pipeline', 1, 1024),
    connections: numbers('connections', 1, 10_000),
    requests,
    seconds: requests > 0 ? 0 : number('seconds', 0.01, 3600, false),
    warmupSeconds: number('warmup', 0, 3600, false),
    rounds: number('rounds', 1, 1000),
    keys: number('keys', 1, MAX_KEYS),
    lanes: numbers('lanes', 1, 1024),
    serveArguments: text('serve-arguments').split(/\s+/).filter(Boolean),
    client: text('client'),
    redis: text('redis'),
    valkey: text('valkey'),
    quotadb: text('quotadb'),
    json: text('json'),
    results: text('results'),
    smoke: given.switches.smoke,
    halfLoad: !given.switches['no-half-load'],
    limits: !given.switches['no-limits'],
    help: given.switches.help,
  };
  if (mistakes.length > 0) throw new UsageError(mistakes.join('\n'));
  return options;
}

function readFlags(argv: readonly string[]) {
  try {
    const { values } = parseArgs({
      args: [...argv],
      options: {
        ...Object.fromEntries(Object.keys(textFlags).map((flag) => [flag, { type: 'string' as const }])),
        ...Object.fromEntries(Object.keys(switches).map((flag) => [flag, { type: 'boolean' as const }])),
      },
    });
    const texts = values as Partial<Record<keyof typeof textFlags, string>>;
    const on = (flag: keyof typeof switches) => (values as Record<string, unknown>)[flag] === true;
    return {
      texts,
      switches: {
        smoke: on('smoke'),
        'no-half-load': on('no-half-load'),
        'no-limits': on('no-limits'),
        help: on('help'),
      },
    };
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

function listOf(text: string): string[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

function numberIn(
  flag: string,
  text: string,
  minimum: number,
  maximum: number,
  whole: boolean,
  mistakes: string[],
): number {
  const value = Number(text);
  const acceptable = text.trim() !== '' && value >= minimum && value <= maximum && (!whole || Number.isInteger(value));
  if (!acceptable) {
    mistakes.push(`--${flag}: "${text}" is not a ${whole ? 'whole ' : ''}number from ${minimum} to ${maximum}`);
  }
  return value;
}

export function helpText(): string {
  const lines = Object.entries<TextFlag>(textFlags).map(([flag, { placeholder, default: value, help }]) => [
    `--${flag} ${placeholder}`,
    value === '' || value === '0' ? help : `${help} [${value}]`,
  ]);
  lines.push(...Object.entries(switches).map(([flag, help]) => [`--${flag}`, help]));
  const width = Math.max(...lines.map(([flag]) => flag!.length));
  return [
    'quotadb bench [flags]          measure QuotaDB side by side with Redis on this machine',
    'quotadb bench counts [flags]   the counts API beside a service with one statement per request; see counts --help',
    'quotadb bench durability       what the disk costs, beside Redis with its append-only file; see durability --help',
    'quotadb bench replication      what three regions cost and how far they are apart; see replication --help',
    'quotadb bench report [flags]   write docs/benchmarks.md from the history; flags: --results DIR, --docs DIR',
    'quotadb bench limits           the rate limiter, window stores and clients, each beside others; see limits --help',
    'quotadb bench quotas           how much of a limit is allowed across regions (simulated); see quotas --help',
    'quotadb bench steps            what each step of an increment costs, without a network',
    '',
    ...lines.map(([flag, help]) => `  ${flag!.padEnd(width)}  ${help}`),
    '',
    'Workloads:',
    ...[...workloads, ...memoryWorkloads].map(({ name, description }) => `  ${name.padEnd(width)}  ${description}`),
    '',
  ].join('\n');
}
