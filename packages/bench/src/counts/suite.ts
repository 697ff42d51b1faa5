import { fileURLToPath } from 'node:url';
import { choice, integer, names, type Options } from '../command-line/flags.js';
import { type BenchRun, defineSuite, sharedFlags } from '../command-line/suite.js';
import type { Cleanup } from '../machine/cleanup.js';
import { cpuMicrosecondsBetween, sampleCpu } from '../machine/cpu-time.js';
import { describeMachine } from '../machine/describe.js';
import { findExecutable } from '../machine/executable.js';
import { idleShareBetween, sampleIdle } from '../machine/idle-share.js';
import { byTurns } from '../measure/rounds.js';
import type { RunStamp } from '../results/stamp.js';
import { summarize } from '../results/summary.js';
import { requireQuotaDB, startQuotaDB } from '../servers/quotadb.js';
import { startServerProcess } from '../servers/server-process.js';
import { loadWithAutocannon } from './autocannon.js';
import { BenchDatabase } from './database.js';
import { loadAtConstantRate } from './paced-load.js';
import { itemSequence, type LoadResult, type Scenario, scenarioNames, scenarios } from './requests.js';
import { type CountsRound, type CountsRow, formatCountsRow } from './row.js';
import { loadWithWrk } from './wrk.js';

const WARM_UP_SECONDS = 2;

/** As `npm run build` made it, also when this runs from the sources. */
const ONE_STATEMENT_SERVICE = fileURLToPath(new URL('../../dist/counts/one-statement-service.js', import.meta.url));

const flags = {
  scenario: names('the scenarios below, or none', scenarioNames, scenarioNames.join(','), { none: [] }),
  items: integer('counts in the database', [1, 10_000_000], '10000', '500'),
  connections: integer('HTTP connections at once', [1, 10_000], '256', '16'),
  seconds: integer('whole seconds of a round', [1, 3_600], '10', '1'),
  rounds: sharedFlags.rounds,
  pacedSeconds: integer('whole seconds of the run at a constant rate; 0 for none', [0, 3_600], '60', '1'),
  pacedRate: integer('requests a second of that run', [1, 1_000_000], '10000', '200'),
  client: choice('load generator: wrk or autocannon; wrk if it is installed', ['wrk', 'autocannon']),
  smoke: sharedFlags.smoke,
};

/**
 * `quotadb bench counts`: the counts API of QuotaDB and a service that sends one statement per request, on the same
 * PostgreSQL with fsync on, over HTTP. Everything runs on this machine, the load generator included.
 */
export const counts = defineSuite({
  name: 'counts',
  summary: 'the counts API beside a service that sends one statement per request',
  flags,
  appendix: { title: 'Scenarios', entries: Object.entries(scenarios) },
  rows: { folder: 'counts', format: formatCountsRow },
  async run(options, run: BenchRun<CountsRow>) {
    const database = await BenchDatabase.start(run.cleanup);
    const bench = new CountsBench(options, run, database, await startSides(database.url, run.cleanup));
    await bench.prepare();
    for (const scenario of scenarioNames.filter((name) => options.scenario.includes(name)))
      await bench.compare(scenario);
    if (options.pacedSeconds > 0) await bench.hold();
  },
});

/** One side of the comparison. */
interface CountsSide {
  readonly name: 'quotadb' | 'one-statement';
  readonly pid: number;
  readonly httpPort: number;
}

/** Both stay up all the time, and only one is under load at a time. */
async function startSides(databaseUrl: string, cleanup: Cleanup): Promise<[CountsSide, CountsSide]> {
  const serve = ['--transport', 'net', '--max-memory', '16mb', '--postgres', databaseUrl];
  const quotadb = await startQuotaDB({ program: requireQuotaDB(), flags: serve, name: 'counts-quotadb' }, cleanup);
  const command = {
    name: 'counts-one-statement',
    program: process.execPath,
    arguments: [ONE_STATEMENT_SERVICE, databaseUrl],
    ready: (line: string) => (line.startsWith('ready ') ? { port: Number(line.slice('ready '.length)) } : undefined),
    limits: false,
  };
  const oneStatement = await startServerProcess(command, cleanup);
  return [
    { name: 'quotadb', pid: quotadb.pid, httpPort: quotadb.httpPort },
    { name: 'one-statement', pid: oneStatement.pid, httpPort: oneStatement.port },
  ];
}

function chooseClient(wanted: 'wrk' | 'autocannon' | '') {
  const wrk = findExecutable('wrk');
  if (wanted === 'wrk' && wrk === undefined) throw new Error('wrk is not installed (apt-get install wrk)');
  if (wrk === undefined || wanted === 'autocannon') return { name: 'autocannon', load: loadWithAutocannon };
  return { name: 'wrk', load: loadWithWrk.bind(undefined, wrk) };
}

class CountsBench {
  readonly #options: Options<typeof flags>;
  readonly #run: BenchRun<CountsRow>;
  readonly #database: BenchDatabase;
  readonly #sides: readonly [CountsSide, CountsSide];

  constructor(
    options: Options<typeof flags>,
    run: BenchRun<CountsRow>,
    database: BenchDatabase,
    sides: readonly [CountsSide, CountsSide],
  ) {
    this.#options = options;
    this.#run = run;
    this.#database = database;
    this.#sides = sides;
  }

  /** Fills the table of counts, which QuotaDB makes when it is first asked for one. */
  async prepare(): Promise<void> {
    const response = await fetch(`http://127.0.0.1:${this.#sides[0].httpPort}/api/v1/internal/counts/nothing`);
    if (response.status !== 404) throw new Error(`the counts API does not answer: ${await response.text()}`);
    await this.#database.fill(this.#options.items);
  }

  /** As many requests as each side can take; the sides take turns. */
  async compare(scenario: Scenario): Promise<void> {
    const { rounds, seconds, smoke } = this.#options;
    const client = chooseClient(this.#options.client);
    const load = (side: CountsSide, length: number) => client.load(this.#loadOf(side, scenario, length));
    for (const side of smoke ? [] : this.#sides) await load(side, WARM_UP_SECONDS);
    const [ours, theirs] = await byTurns(this.#sides, rounds, (side, round) => {
      this.#run.progress(`${scenario}, round ${round + 1}: ${side.name}`);
      return this.#measure(side, () => load(side, seconds));
    });
    const sides = { quotadb: summarize(ours!), 'one-statement': summarize(theirs!) };
    const ratioToOneStatement =
      sides.quotadb.requestsPerSecond.median / sides['one-statement'].requestsPerSecond.median;
    const how = { scenario, client: client.name, secondsPerRound: seconds, rounds };
    await this.#keep({ ...how, sides, ratioToOneStatement });
  }

  /** A constant rate for a long time: does it hold, and how late are the answers? */
  async hold(): Promise<void> {
    const { pacedRate, pacedSeconds, smoke } = this.#options;
    const [side] = this.#sides;
    this.#run.progress(`constant rate: ${pacedRate} requests/s for ${pacedSeconds} s`);
    const load = this.#loadOf(side, 'uniform', pacedSeconds);
    // The first requests of a process wait for the compiler and for connections to the database.
    if (!smoke) await loadAtConstantRate({ ...load, seconds: WARM_UP_SECONDS }, pacedRate);
    const sides = { quotadb: summarize([await this.#measure(side, () => loadAtConstantRate(load, pacedRate))]) };
    const how = { scenario: 'constant-rate', client: 'own', secondsPerRound: pacedSeconds, rounds: 1 };
    await this.#keep({ ...how, requestedPerSecond: pacedRate, sides });
  }

  #loadOf(side: CountsSide, scenario: Scenario, seconds: number) {
    const { items, connections } = this.#options;
    const sequence = itemSequence(scenario, items);
    return { port: side.httpPort, items: sequence, connections, seconds, signal: this.#run.signal };
  }

  async #measure(side: CountsSide, load: () => Promise<LoadResult>): Promise<CountsRound> {
    const before = await this.#database.settledTotal();
    await this.#database.settle();
    const idleBefore = sampleIdle();
    const cpuBefore = sampleCpu(side.pid);
    const result = await load();
    const cpuMicroseconds = cpuMicrosecondsBetween(cpuBefore, sampleCpu(side.pid)) ?? 0;
    const machineIdleShare = idleShareBetween(idleBefore, sampleIdle());
    await this.#checkTotal(side, before, result);
    const { requests, seconds, failures, ...latencies } = result;
    return {
      requestsPerSecond: requests / seconds,
      ...latencies,
      failures,
      serviceCpuMicrosecondsPerRequest: cpuMicroseconds / requests,
      machineIdleShare,
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

  async #keep(row: Omit<CountsRow, 'machine' | 'database' | 'smoke' | 'items' | 'connections' | keyof RunStamp>) {
    const { smoke, items, connections } = this.#options;
    const database = await this.#database.describe();
    const machine = describeMachine();
    this.#run.keep({ ...this.#run.stamp, machine, database, smoke, items, connections, ...row });
  }
}
