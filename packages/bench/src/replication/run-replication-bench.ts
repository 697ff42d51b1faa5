import { setTimeout as delay } from 'node:timers/promises';
import { type Common, commonOf, type Output } from '../bench.js';
import type { Cleanup } from '../cleanup.js';
import { UsageError } from '../flags.js';
import type { KeyDistribution } from '../load/key-sequence.js';
import type { LoadResult } from '../load/load-job.js';
import { KEY, type Request } from '../load/request.js';
import { runLoad } from '../load/run-load.js';
import { pinToCore } from '../machine/pin.js';
import type { Round } from '../measure/measures.js';
import { fullLoadRound, OWN_CLIENT } from '../measure/scenario.js';
import { formatRow } from '../output/table.js';
import { resultsDirectory } from '../results/environment.js';
import { writeHistory } from '../results/history.js';
import type { ResultRow, Side } from '../results/row.js';
import { summarize } from '../results/summary.js';
import { ask, infoField } from '../servers/ask.js';
import { findQuotaDB, readyPort } from '../servers/quotadb.js';
import { type ServerProcess, startServerProcess } from '../servers/server-process.js';
import { openDelayingProxy } from './delaying-proxy.js';
import { measureLags, percentile } from './lag.js';
import { parseReplicationOptions, type ReplicationOptions, replicationHelpText } from './options.js';

const INCREMENT: readonly Request[] = [[['INCR', KEY]]];
const WARMUP_MS = 500;
/** Until replication too has been compiled, on a core that has no time for that. */
const LONG_WARMUP_MS = 12_000;
/**
 * Regions are far apart, each on a machine of its own. On one machine the region that is measured and its clients have one
 * core, and the others another: what they spend on taking in its changes is not taken from it.
 */
const HERE = 0;
const ELSEWHERE = 1;
const MILLION = 1_000_000;
const ONE_WAY_MS = 50;
const POLL_MS = 20;
const SETTLE_MS = 500;
const FILL_PIPELINE = 64;
const MEBIBYTE = 1024 * 1024;

/**
 * `quotadb bench replication`: what replicating costs the region that is written to, how late others are, what a hot key and
 * a first copy cost on the wire. Redis has nothing of the kind, so the baseline is a server on its own.
 */
export async function runReplicationBench(
  argv: readonly string[],
  cleanup: Cleanup,
  signal: AbortSignal,
  output: Output,
): Promise<void> {
  const options = parseReplicationOptions(argv);
  if (options.help) {
    output.print(replicationHelpText());
    return;
  }
  const bench = new ReplicationBench(options, cleanup, signal, output);
  try {
    await bench.run();
  } finally {
    if (bench.rows.length > 0 && !options.smoke) {
      output.progress(`results: ${writeHistory(resultsDirectory(options.results), bench.rows)}`);
    }
  }
}

interface Region extends ServerProcess {
  readonly name: string;
  readonly replicationPort: number;
}

class ReplicationBench {
  readonly rows: ResultRow[] = [];
  private readonly options: ReplicationOptions;
  private readonly cleanup: Cleanup;
  private readonly signal: AbortSignal;
  private readonly output: Output;
  private readonly program: string;
  private readonly common: Common;
  private readonly warmupMs: number;

  constructor(options: ReplicationOptions, cleanup: Cleanup, signal: AbortSignal, output: Output) {
    this.options = options;
    this.cleanup = cleanup;
    this.signal = signal;
    this.output = output;
    const program = options.quotadb || findQuotaDB();
    if (program === undefined) throw new UsageError('--quotadb: there is no quotadb program beside this one');
    this.program = program;
    this.common = commonOf(options);
    this.warmupMs = options.smoke ? WARMUP_MS : LONG_WARMUP_MS;
  }

  async run(): Promise<void> {
    await this.measureThroughput();
    await this.measureLag();
    await this.measureHotKey();
    await this.measureJoin('replication-join', 0);
    await this.measureJoin('replication-join-100ms', ONE_WAY_MS);
  }

  private async measureThroughput(): Promise<void> {
    const { rounds, otherRate, seconds } = this.options;
    const alone: Round[] = [];
    const together: Round[] = [];
    let isPinned = false;
    for (let round = 0; round < rounds; round++) {
      this.output.progress(`replication-throughput, round ${round + 1} of ${rounds}`);
      const lone = await this.start('lone', []);
      isPinned = pinToCore(lone.pid, HERE);
      alone.push(fullLoadRound(await this.load(lone, { seed: round, warmupMs: this.warmupMs, core: HERE })));
      await lone.stop();
      const [first, ...others] = await this.startThree();
      pinToCore((first as Region).pid, HERE);
      for (const { pid } of others) pinToCore(pid, ELSEWHERE);
      const longerSeconds = seconds + this.warmupMs / 1000 + 1;
      const meanwhile = others.map((region, index) =>
        this.load(region, { seed: 100 + index, rate: otherRate, seconds: longerSeconds, core: ELSEWHERE }),
      );
      const measured = this.load(first as Region, { seed: round, warmupMs: this.warmupMs, core: HERE });
      together.push(fullLoadRound(await measured));
      await Promise.all(meanwhile);
      await this.stopAll([first as Region, ...others]);
    }
    const cores = isPinned ? 'it and its clients on one core, the others on another' : 'all on the same cores';
    const words = `INCR in one region as fast as it goes, beside a server on its own; ${otherRate}/s in each of the two others; ${cores}`;
    this.keep('replication-throughput', words, [
      ['lone', alone],
      ['three regions', together],
    ]);
  }

  private async measureLag(): Promise<void> {
    const { rounds, rate, seconds } = this.options;
    const measured: Round[] = [];
    for (let round = 0; round < rounds; round++) {
      this.output.progress(`replication-lag, round ${round + 1} of ${rounds}`);
      const regions = await this.startThree();
      await this.settle(regions);
      const loads = regions.map((region, index) =>
        this.load(region, { seed: round + index, rate, seconds: seconds + 1, warmupMs: this.warmupMs }),
      );
      await delay(this.warmupMs);
      const [from, to] = regions as [Region, Region];
      const lags = await measureLags(from.port, to.port, seconds);
      const results = await Promise.all(loads);
      const lowest = Math.min(...results.map(({ operations, elapsedMs }) => (operations * 1000) / elapsedMs));
      measured.push({
        throughputPerSecond: lowest,
        lagP50Ms: percentile(lags, 0.5),
        lagP99Ms: percentile(lags, 0.99),
      });
      await this.stopAll(regions);
    }
    const words = `from the reply of an INCR in one region until another shows it; ${rate}/s asked of each of three regions`;
    this.keep('replication-lag', words, [['three regions', measured]]);
  }

  private async measureHotKey(): Promise<void> {
    const measured: Round[] = [];
    for (let round = 0; round < this.options.rounds; round++) {
      this.output.progress(`replication-hot-key, round ${round + 1} of ${this.options.rounds}`);
      const regions = await this.startThree();
      const [from, to] = regions as [Region, Region];
      await delay(SETTLE_MS);
      const before = await exchanged(from, to);
      const { operations } = await this.load(from, { seed: round, keys: 'hot', warmupMs: 0 });
      await delay(SETTLE_MS);
      const after = await exchanged(from, to);
      measured.push({
        wireBytesPerMillionIncrements: ((after.bytes - before.bytes) * MILLION) / operations,
        componentsPerMillionIncrements: ((after.components - before.components) * MILLION) / operations,
      });
      await this.stopAll(regions);
    }
    this.keep('replication-hot-key', 'what a million INCR of one key cost on the wire to one peer', [
      ['three regions', measured],
    ]);
  }

  private async measureJoin(workload: string, oneWayMs: number): Promise<void> {
    const { joinKeys, rounds } = this.options;
    const measured: Round[] = [];
    for (let round = 0; round < rounds; round++) {
      this.output.progress(`${workload}, round ${round + 1} of ${rounds}`);
      const full = await this.start('us', ['--max-memory', '1gb']);
      await this.fill(full, joinKeys);
      const empty = await this.start('eu', ['--max-memory', '1gb']);
      const port =
        oneWayMs === 0 ? full.replicationPort : await openDelayingProxy(full.replicationPort, oneWayMs, this.cleanup);
      const startedAtMs = performance.now();
      await ask(empty.port, 'REPL.PEERS', 'ADD', 'us', `127.0.0.1:${port}`);
      while (Number(await ask(empty.port, 'DBSIZE')) < joinKeys) await delay(POLL_MS);
      const joinSeconds = (performance.now() - startedAtMs) / 1000;
      const { bytes } = await exchanged(full, empty);
      measured.push({
        joinSeconds,
        wireMebibytesPerSecond: bytes / MEBIBYTE / joinSeconds,
        wireBytesPerKey: bytes / joinKeys,
      });
      await this.stopAll([full, empty]);
    }
    const way = oneWayMs === 0 ? 'on one machine' : `${2 * oneWayMs} ms there and back`;
    this.keep(workload, `an empty region copies ${joinKeys} keys, ${way}`, [['two regions', measured]]);
  }

  // ---- servers and load -----------------------------------------------------------------------------------------------------

  private async start(name: string, flags: readonly string[]): Promise<Region> {
    this.signal.throwIfAborted();
    let replicationPort = 0;
    const server = await startServerProcess(
      {
        name: `quotadb-${name}`,
        program: process.execPath,
        arguments: () => {
          const ports = ['--resp', '0', '--http', '0', '--repl', '0'];
          return [this.program, 'serve', ...ports, '--memory', '--region', name, '--log-level', 'error', ...flags];
        },
        readyPort: (line) => {
          const port = readyPort(line);
          if (port !== undefined) replicationPort = (JSON.parse(line) as { repl: number }).repl;
          return port;
        },
      },
      false,
      this.cleanup,
    );
    return { ...server, name, replicationPort };
  }

  private async startThree(): Promise<Region[]> {
    const regions: Region[] = [];
    for (const name of ['us', 'eu', 'ap']) regions.push(await this.start(name, []));
    for (const region of regions) {
      for (const other of regions) {
        if (other === region) continue;
        await ask(region.port, 'REPL.PEERS', 'ADD', other.name, `127.0.0.1:${other.replicationPort}`);
      }
    }
    for (const region of regions) {
      while (infoField(await ask(region.port, 'INFO', 'replication'), 'connected_slaves') !== '2') await delay(POLL_MS);
    }
    return regions;
  }

  /** Every region has counted every key, and knows that all others have. */
  private async settle(regions: readonly Region[]): Promise<void> {
    const { keys } = this.options;
    for (const region of regions) await this.fill(region, keys);
    for (const region of regions)
      for (const other of regions)
        while (other !== region && (await exchanged(region, other)).componentsIn < keys) await delay(POLL_MS);
  }

  private async stopAll(regions: readonly Region[]): Promise<void> {
    await Promise.all(regions.map((region) => region.stop()));
  }

  private load(
    region: Region,
    given: { seed: number; rate?: number; seconds?: number; keys?: KeyDistribution; warmupMs?: number; core?: number },
  ): Promise<LoadResult> {
    const { connections, pipeline, keys, seconds } = this.options;
    return runLoad(
      {
        port: region.port,
        serverPid: region.pid,
        pattern: INCREMENT,
        keys: given.keys ?? 'uniform',
        keyCount: keys,
        seed: given.seed + 1,
        pipeline,
        connections,
        warmupMs: given.warmupMs ?? WARMUP_MS,
        measureMs: (given.seconds ?? seconds) * 1000,
        measureOperations: 0,
        operationsPerSecond: given.rate ?? 0,
      },
      this.signal,
      given.core,
    );
  }

  private async fill(region: Region, keyCount: number): Promise<void> {
    await runLoad(
      {
        port: region.port,
        serverPid: region.pid,
        pattern: INCREMENT,
        keys: 'sequential',
        keyCount,
        seed: 0,
        pipeline: FILL_PIPELINE,
        connections: 4,
        warmupMs: 0,
        measureMs: 0,
        measureOperations: keyCount,
        operationsPerSecond: 0,
      },
      this.signal,
    );
    const held = Number(await ask(region.port, 'DBSIZE'));
    if (held !== keyCount) throw new Error(`${region.name} holds ${held} keys after being given ${keyCount}`);
  }

  private keep(
    workload: string,
    description: string,
    measured: readonly (readonly [string, readonly Round[]])[],
  ): void {
    const side = (rounds: readonly Round[]): Side => ({
      kind: 'quotadb',
      version: '',
      serveArguments: ['--memory'],
      limits: 'none',
      commands: 'INCR {key}',
      measures: summarize(rounds),
    });
    const row: ResultRow = {
      ...this.common,
      workload,
      description,
      pipeline: this.options.pipeline,
      connections: this.options.connections,
      client: OWN_CLIENT,
      warmupSeconds: WARMUP_MS / 1000,
      secondsPerRound: this.options.seconds,
      operationsPerRound: 0,
      sides: Object.fromEntries(measured.map(([name, rounds]) => [name, side(rounds)])),
      ratiosToRedis: {},
    };
    this.rows.push(row);
    this.output.print(formatRow(row));
  }
}

/** What a region has sent to another so far, and has from it. */
async function exchanged(from: Region, to: Region) {
  const line = infoField(await ask(from.port, 'INFO', 'replication'), `quotadb_peer_${to.name}`) ?? '';
  const field = (name: string) => Number(new RegExp(`(?:^|,)${name}=(\\d+)`).exec(line)?.[1] ?? 0);
  return {
    bytes: field('bytes_out'),
    components: field('components_out'),
    componentsIn: field('components_in'),
  };
}
