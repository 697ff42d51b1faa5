import type { Output } from '../bench.js';
import type { Cleanup } from '../cleanup.js';
import { cpuMicrosecondsBetween, sampleCpu } from '../machine/cpu-time.js';
import { describeMachine } from '../machine/describe.js';
import { resultsDirectory, stampRun } from '../results/environment.js';
import { writeHistory } from '../results/history.js';
import { BenchDatabase } from './bench-database.js';
import { chooseClient } from './clients/closed-load.js';
import { loadAtConstantRate } from './clients/paced-load.js';
import { type CountsRound, type LoadResult, summarizeRounds } from './measures.js';
import { type CountsBenchOptions, countsHelpText, parseCountsOptions } from './options.js';
import { type CountsRow, formatCountsRow } from './row.js';
import { itemSequence, type Scenario, scenarios } from './scenario.js';
import { type CountsSide, startSides } from './services.js';

type Common = Omit<CountsRow, 'scenario' | 'client' | 'secondsPerRound' | 'rounds' | 'sides'>;

const WARM_UP_SECONDS = 2;

/**
 * `quotadb bench counts`: the counts API of QuotaDB and a service that sends one statement per request, on the same
 * PostgreSQL with fsync on, over HTTP. Everything runs on this machine, the load generator included.
 */
export async function runCountsBench(
  argv: readonly string[],
  cleanup: Cleanup,
  signal: AbortSignal,
  output: Output,
): Promise<void> {
  const options = parseCountsOptions(argv);
  if (options.help) {
    output.print(countsHelpText());
    return;
  }
  const database = await BenchDatabase.start(cleanup);
  const sides = await startSides(database.url, cleanup);
  await makeTable(sides[0]!);
  await database.fill(options.items);
  const common: Common = {
    ...stampRun(),
    machine: describeMachine(),
    database: await database.describe(),
    smoke: options.smoke,
    items: options.items,
    connections: options.connections,
  };
  const bench = new CountsBench(options, database, sides, common, signal, output);
  const rows: CountsRow[] = [];
  try {
    for (const scenario of options.scenarios) rows.push(await bench.compare(scenario));
    if (options.pacedSeconds > 0) rows.push(await bench.hold());
  } finally {
    if (rows.length > 0 && !options.smoke) {
      output.progress(`results: ${writeHistory(resultsDirectory(options.results, 'counts'), rows)}`);
    }
  }
}

class CountsBench {
  readonly #options: CountsBenchOptions;
  readonly #database: BenchDatabase;
  readonly #sides: readonly CountsSide[];
  readonly #common: Common;
  readonly #signal: AbortSignal;
  readonly #output: Output;

  constructor(
    options: CountsBenchOptions,
    database: BenchDatabase,
    sides: readonly CountsSide[],
    common: Common,
    signal: AbortSignal,
    output: Output,
  ) {
    this.#options = options;
    this.#database = database;
    this.#sides = sides;
    this.#common = common;
    this.#signal = signal;
    this.#output = output;
  }

  /** As many requests as each side can take; the sides take turns. */
  async compare(scenario: Scenario): Promise<CountsRow> {
    const { connections, rounds, seconds, smoke } = this.#options;
    const client = chooseClient(this.#options.client);
    const items = itemSequence(scenario, this.#options.items);
    const load = (side: CountsSide, length: number) =>
      client.load({ port: side.service.port, items, connections, seconds: length, signal: this.#signal });
    const measured = new Map<string, CountsRound[]>(this.#sides.map(({ name }) => [name, []]));
    for (const side of smoke ? [] : this.#sides) await load(side, WARM_UP_SECONDS);
    for (let round = 1; round <= rounds; round++) {
      for (const side of this.#sides) {
        this.#output.progress(`${scenario.name}, round ${round}: ${side.name}`);
        measured.get(side.name)!.push(await this.#measure(side, () => load(side, seconds)));
      }
    }
    const sides = Object.fromEntries([...measured].map(([name, all]) => [name, summarizeRounds(all)]));
    const ratioToOneStatement =
      sides.quotadb!.requestsPerSecond.median / sides['one-statement']!.requestsPerSecond.median;
    return this.#print({
      ...this.#common,
      scenario: scenario.name,
      client: client.name,
      secondsPerRound: seconds,
      rounds,
      sides,
      ratioToOneStatement,
    });
  }

  /** A constant rate for a long time: does it hold, and how late are the answers? */
  async hold(): Promise<CountsRow> {
    const { connections, pacedRate, pacedSeconds } = this.#options;
    const [uniform] = scenarios;
    const [side] = this.#sides;
    const items = itemSequence(uniform!, this.#options.items);
    this.#output.progress(`constant rate: ${pacedRate} requests/s for ${pacedSeconds} s`);
    const load = { port: side!.service.port, items, connections, seconds: pacedSeconds, signal: this.#signal };
    // The first requests of a process wait for the compiler and for connections to the database.
    if (!this.#options.smoke) await loadAtConstantRate({ ...load, seconds: WARM_UP_SECONDS }, pacedRate);
    const round = await this.#measure(side!, () => loadAtConstantRate(load, pacedRate));
    return this.#print({
      ...this.#common,
      scenario: 'constant-rate',
      client: 'own',
      secondsPerRound: pacedSeconds,
      rounds: 1,
      requestedPerSecond: pacedRate,
      sides: { [side!.name]: summarizeRounds([round]) },
    });
  }

  async #measure(side: CountsSide, load: () => Promise<LoadResult>): Promise<CountsRound> {
    const before = await this.#database.settledTotal();
    await this.#database.settle();
    const cpuBefore = sampleCpu(side.service.pid);
    const result = await load();
    const cpuAfter = sampleCpu(side.service.pid);
    await this.#checkTotal(side, before, result);
    const cpuMicroseconds = cpuBefore && cpuAfter ? cpuMicrosecondsBetween(cpuBefore, cpuAfter) : 0;
    return {
      requestsPerSecond: result.requests / result.seconds,
      latencyMsP50: result.latencyMsP50,
      latencyMsP99: result.latencyMsP99,
      latencyMsP999: result.latencyMsP999,
      failures: result.failures,
      serviceCpuMicrosecondsPerRequest: cpuMicroseconds / result.requests,
    };
  }

  /** Figures of a service that miscounts are worth nothing. Requests still out at the end may count or not. */
  async #checkTotal(side: CountsSide, before: number, { requests, failures }: LoadResult): Promise<void> {
    const added = (await this.#database.settledTotal()) - before;
    const acknowledged = requests - failures;
    if (added < acknowledged || added > requests + this.#options.connections) {
      throw new Error(`${side.name} acknowledged ${acknowledged} increases of 1, and the counts grew by ${added}`);
    }
  }

  #print(row: CountsRow): CountsRow {
    this.#output.print(formatCountsRow(row));
    return row;
  }
}

/** QuotaDB makes its table when it first needs it. */
async function makeTable({ service }: CountsSide): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${service.port}/api/v1/internal/counts/nothing`);
  if (response.status !== 404) throw new Error(`the counts API is not there: ${await response.text()}`);
}
