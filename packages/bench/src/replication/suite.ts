import { setTimeout as delay } from 'node:timers/promises';
import { TcpProxy } from '@quotadb/wire/proxy';
import { integer, type Options, seconds } from '../command-line/flags.js';
import { type BenchRun, defineSuite, sharedFlags } from '../command-line/suite.js';
import { type LoadJob, type LoadResult, loadJob } from '../load/load-job.js';
import { INCREMENT, MAX_KEYS } from '../load/request.js';
import { runLoad } from '../load/run-load.js';
import { pinToCore } from '../machine/pin.js';
import { fullLoadRound, perSecond } from '../measure/rounds.js';
import { formatRow } from '../report/table.js';
import type { Round } from '../results/measures.js';
import { makeRow, type NamedSide, type ResultRow } from '../results/row.js';
import { summarize } from '../results/summary.js';
import { ask } from '../servers/ask.js';
import { fillKeys } from '../servers/fill.js';
import { type QuotaDBProcess, requireQuotaDB } from '../servers/quotadb.js';
import { measureLags, percentile } from './lag.js';
import { addPeer, exchanged, POLL_MS, startRegion, startThreeRegions, stopRegions } from './regions.js';

const WARMUP_MS = 500;
/** Until replication too has been compiled, on a core that has no time for that. */
const LONG_WARMUP_MS = 12_000;
/**
 * Regions are far apart, each on a machine of its own. On one machine the measured region and its clients have one
 * core, and the other regions another: the time they take to merge its changes is not taken from it.
 */
const HERE = 0;
const ELSEWHERE = 1;
const MILLION = 1_000_000;
const ONE_WAY_MS = 50;
const SETTLE_MS = 500;
const MEBIBYTE = 1024 * 1024;
const JOIN_MEMORY = ['--max-memory', '1gb'];

const RATE = [1, 10_000_000] as const;

const flags = {
  seconds: seconds('length of a round', [0.01, 3600], '5', '0.3'),
  rounds: sharedFlags.rounds,
  keys: integer('keys that are incremented', [1, MAX_KEYS], '100000', '1000'),
  joinKeys: integer('keys that a region which joins empty has to copy', [1, MAX_KEYS], '1000000', '10000'),
  rate: integer('increments a second in every region while the lag is measured', RATE, '100000', '1000'),
  otherRate: integer('increments a second in the other regions while one is measured', RATE, '10000', '1000'),
  connections: integer('clients at once', [1, 10_000], '20', '4'),
  pipeline: integer('requests sent before waiting for replies', [1, 1024], '16'),
  quotadb: sharedFlags.quotadb,
  smoke: sharedFlags.smoke,
};

/**
 * `quotadb bench replication`: the cost of replicating to the region that is written to, the lag of other regions, and
 * the bytes that a hot key and a first copy take on the wire. Redis has nothing of the kind: the baseline is a lone
 * server.
 */
export const replication = defineSuite({
  name: 'replication',
  summary: 'what three regions cost and how late they are, on one machine',
  flags,
  rows: { folder: '', format: formatRow },
  async run(options, run: BenchRun<ResultRow>) {
    const bench = new ReplicationBench(options, run);
    await bench.measureThroughput();
    await bench.measureLag();
    await bench.measureHotKey();
    await bench.measureJoin('replication-join', 0);
    await bench.measureJoin('replication-join-100ms', ONE_WAY_MS);
  },
});

class ReplicationBench {
  readonly #options: Options<typeof flags>;
  readonly #run: BenchRun<ResultRow>;
  readonly #program: string;
  readonly #warmupMs: number;

  constructor(options: Options<typeof flags>, run: BenchRun<ResultRow>) {
    this.#options = options;
    this.#run = run;
    this.#program = requireQuotaDB(options.quotadb);
    this.#warmupMs = options.smoke ? WARMUP_MS : LONG_WARMUP_MS;
  }

  async measureThroughput(): Promise<void> {
    const { otherRate, seconds } = this.#options;
    const workload = 'replication-throughput';
    const alone: Round[] = [];
    let isPinned = false;
    const together = await this.#rounds(workload, async (round) => {
      const measured = { seed: round + 1, warmupMs: this.#warmupMs };
      const lone = await startRegion(this.#program, 'lone', this.#run);
      isPinned = pinToCore(lone.pid, HERE);
      alone.push(fullLoadRound(await this.#load(lone, measured, HERE)));
      await lone.stop();
      const [first, ...others] = await startThreeRegions(this.#program, this.#run);
      pinToCore(first.pid, HERE);
      for (const { pid } of others) pinToCore(pid, ELSEWHERE);
      const measureMs = seconds * 1000 + this.#warmupMs + 1000;
      const meanwhile = others.map((region, index) =>
        this.#load(region, { seed: 101 + index, operationsPerSecond: otherRate, sleeps: true, measureMs }, ELSEWHERE),
      );
      const result = await this.#load(first, measured, HERE);
      await Promise.all(meanwhile);
      await stopRegions([first, ...others]);
      return fullLoadRound(result);
    });
    const cores = isPinned ? 'it and its clients on one core, the others on another' : 'all on the same cores';
    const description =
      'INCR in one region as fast as it goes, beside a server on its own; ' +
      `${otherRate}/s in each of the two others; ${cores}`;
    this.#keep(workload, description, { lone: alone, 'three regions': together });
  }

  async measureLag(): Promise<void> {
    const { rate, seconds } = this.#options;
    const workload = 'replication-lag';
    const measured = await this.#rounds(workload, async (round) => {
      const regions = await startThreeRegions(this.#program, this.#run);
      await this.#settle(regions);
      const measureMs = (seconds + 1) * 1000;
      const load = { operationsPerSecond: rate, sleeps: true, measureMs, warmupMs: this.#warmupMs };
      const loads = regions.map((region, index) => this.#load(region, { ...load, seed: round + index + 1 }));
      await delay(this.#warmupMs);
      const lags = await measureLags(regions[0].port, regions[1].port, seconds);
      const results = await Promise.all(loads);
      await stopRegions(regions);
      return {
        throughputPerSecond: Math.min(...results.map(perSecond)),
        lagP50Ms: percentile(lags, 0.5),
        lagP99Ms: percentile(lags, 0.99),
      };
    });
    const description = [
      'from the reply of an INCR in one region until another shows it',
      `${rate}/s asked of each of three regions`,
    ].join('; ');
    this.#keep(workload, description, { 'three regions': measured });
  }

  async measureHotKey(): Promise<void> {
    const workload = 'replication-hot-key';
    const measured = await this.#rounds(workload, async (round) => {
      const regions = await startThreeRegions(this.#program, this.#run);
      const [from, to] = regions;
      await delay(SETTLE_MS);
      const before = await exchanged(from, to);
      const { operations } = await this.#load(from, { seed: round + 1, keys: 'hot', warmupMs: 0 });
      await delay(SETTLE_MS);
      const after = await exchanged(from, to);
      await stopRegions(regions);
      return {
        wireBytesPerMillionIncrements: ((after.bytes - before.bytes) * MILLION) / operations,
        componentsPerMillionIncrements: ((after.components - before.components) * MILLION) / operations,
      };
    });
    const description = 'what a million INCR of one key cost on the wire to one peer';
    this.#keep(workload, description, { 'three regions': measured });
  }

  /** The port of a proxy to this one that delays both directions. */
  async #delayed(port: number, delayMs: number): Promise<number> {
    const proxy = await TcpProxy.open(port);
    proxy.delayMs = delayMs;
    this.#run.cleanup.add({ gently: () => proxy.close(), atOnce: () => proxy.reset() });
    return proxy.port;
  }

  async measureJoin(workload: string, oneWayMs: number): Promise<void> {
    const { joinKeys } = this.#options;
    const measured = await this.#rounds(workload, async () => {
      const full = await startRegion(this.#program, 'us', this.#run, JOIN_MEMORY);
      await fillKeys(full, [INCREMENT], joinKeys, this.#run.signal);
      const empty = await startRegion(this.#program, 'eu', this.#run, JOIN_MEMORY);
      const direct = full.replicationPort;
      const port = oneWayMs === 0 ? direct : await this.#delayed(direct, oneWayMs);
      const startedAtMs = performance.now();
      await addPeer(empty, 'us', port);
      while (Number(await ask(empty.port, 'DBSIZE')) < joinKeys) await delay(POLL_MS);
      const joinSeconds = (performance.now() - startedAtMs) / 1000;
      const { bytes } = await exchanged(full, empty);
      await stopRegions([full, empty]);
      return {
        joinSeconds,
        wireBytesPerKey: bytes / joinKeys,
        wireMebibytesPerSecond: bytes / MEBIBYTE / joinSeconds,
      };
    });
    const way = oneWayMs === 0 ? 'on one machine' : `${2 * oneWayMs} ms there and back`;
    this.#keep(workload, `an empty region copies ${joinKeys} keys, ${way}`, { 'two regions': measured });
  }

  async #rounds(workload: string, measure: (round: number) => Promise<Round>): Promise<Round[]> {
    const measured: Round[] = [];
    for (let round = 0; round < this.#options.rounds; round++) {
      this.#run.progress(`${workload}, round ${round + 1} of ${this.#options.rounds}`);
      measured.push(await measure(round));
    }
    return measured;
  }

  /** Every region has counted every key, and has the counts of all others. */
  async #settle(regions: readonly QuotaDBProcess[]): Promise<void> {
    const { keys } = this.#options;
    for (const region of regions) await fillKeys(region, [INCREMENT], keys, this.#run.signal);
    for (const region of regions)
      for (const other of regions)
        while (other !== region && (await exchanged(region, other)).componentsIn < keys) await delay(POLL_MS);
  }

  #load(region: QuotaDBProcess, given: Partial<LoadJob>, core?: number): Promise<LoadResult> {
    const { connections, pipeline, keys: keyCount, seconds } = this.#options;
    const usual = { keyCount, pipeline, connections, warmupMs: WARMUP_MS, measureMs: seconds * 1000 };
    return runLoad(loadJob(region, { ...usual, ...given }), this.#run.signal, core);
  }

  #keep(workload: string, description: string, measured: Readonly<Record<string, readonly Round[]>>): void {
    const { smoke, keys, rounds, pipeline, connections, seconds: secondsPerRound } = this.#options;
    const sides = Object.entries(measured).map(
      ([name, figures]): NamedSide => ({
        name,
        kind: 'quotadb',
        version: '',
        serveArguments: ['--memory'],
        limits: 'none',
        commands: 'INCR {key}',
        measures: summarize(figures),
      }),
    );
    const lengths = { warmupSeconds: WARMUP_MS / 1000, secondsPerRound, operationsPerRound: 0 };
    const scenario = { smoke, keys, rounds, workload, description, pipeline, connections, ...lengths };
    this.#run.keep(makeRow(this.#run.stamp, scenario, sides));
  }
}
