import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { integer, integers, names, type Options, seconds, text, toggle } from '../command-line/flags.js';
import { type BenchRun, defineSuite, sharedFlags } from '../command-line/suite.js';
import type { KeyDistribution } from '../load/key-sequence.js';
import { loadJob } from '../load/load-job.js';
import { INCREMENT, MAX_KEYS } from '../load/request.js';
import { runLoad } from '../load/run-load.js';
import { undoNow } from '../machine/cleanup.js';
import { byTurns, fullLoadRound, sideOf } from '../measure/rounds.js';
import { formatRow } from '../report/table.js';
import type { Round } from '../results/measures.js';
import { makeRow, type ResultRow } from '../results/row.js';
import { ask, infoField } from '../servers/ask.js';
import {
  type Contender,
  chooseContenders,
  memoryFor,
  type RunningServer,
  startContender,
} from '../servers/contenders.js';
import { fill } from '../servers/fill.js';
import { type DurabilityMode, modeNames, modes, NO_APPEND_ONLY } from './modes.js';

/** Code that was just started is compiled while it runs; the figures are of the time after that. */
const WARMUP_SECONDS = 2;
const LOG_PIPELINE = 16;
const MILLION = 1_000_000;
/** Both sides write in the background; by then the last increments are in the log. */
const SETTLE_MS = 1500;
const POLL_MS = 20;
const NO_LOAD = { pipeline: 0, connections: 0, warmupSeconds: 0, secondsPerRound: 0 };

const flags = {
  seconds: seconds('length of a round', [0.01, 3600], '3', '0.2'),
  rounds: sharedFlags.rounds,
  keys: integer('keys that are incremented', [1, MAX_KEYS], '100000', '1000'),
  recoveryKeys: integer('keys of the store that is started again; 0 for none', [0, MAX_KEYS], '1000000', '10000'),
  connections: integer('clients at once', [1, 10_000], '50', '5'),
  pipeline: integers('requests sent before waiting for replies', [1, 1024], '1,16', '16'),
  lanes: integers('lanes of QuotaDB, each beside Redis; its own choice unless given', [1, 1024], ''),
  mode: names(`${modeNames.join(', ')}; "none" for the log and the start only`, modeNames, 'all', {
    all: modeNames,
    none: [],
  }),
  directory: text('DIR', 'a directory on the disk to measure; a temporary one unless given'),
  redis: sharedFlags.redis,
  quotadb: sharedFlags.quotadb,
  noLog: toggle('leave out the bytes that a hot key costs in the log'),
  noStart: toggle('leave out the start of an empty store'),
  noLimits: sharedFlags.noLimits,
  smoke: sharedFlags.smoke,
};

/**
 * `quotadb bench durability`: INCR with nothing, some and all of it synced to disk, beside Redis and its append-only
 * file; the bytes that a hot key costs in the log; how long an empty and a full store take to start.
 */
export const durability = defineSuite({
  name: 'durability',
  summary: 'what the disk costs, beside Redis with its append-only file',
  flags,
  rows: { folder: '', format: formatRow },
  async run(options, run: BenchRun<ResultRow>) {
    const bench = new DurabilityBench(options, run);
    for (const name of modeNames.filter((name) => options.mode.includes(name))) {
      for (const pipeline of options.pipeline) await bench.measureLoad(`durability-${name}`, modes[name], pipeline);
    }
    if (!options.noLog) await bench.measureLog();
    if (!options.noStart) await bench.measureStart();
    if (options.recoveryKeys > 0) await bench.measureRecovery();
  },
});

class DurabilityBench {
  readonly #options: Options<typeof flags>;
  readonly #run: BenchRun<ResultRow>;
  readonly #contenders: readonly Contender[];
  readonly #directory: string;
  #directories = 0;

  constructor(options: Options<typeof flags>, run: BenchRun<ResultRow>) {
    this.#options = options;
    this.#run = run;
    this.#contenders = chooseContenders(options);
    const parent = options.directory || tmpdir();
    mkdirSync(parent, { recursive: true });
    this.#directory = mkdtempSync(join(parent, 'quotadb-bench-durability-'));
    run.cleanup.add(undoNow(() => rmSync(this.#directory, { recursive: true, force: true })));
  }

  async measureLoad(workload: string, mode: DurabilityMode, pipeline: number): Promise<void> {
    this.#run.progress(`${workload}, pipeline ${pipeline}, ${this.#options.connections} connections`);
    await this.#measure({ workload, description: mode.description, pipeline }, async (contender, round) => {
      const server = await this.#start(contender, mode, this.#makeDirectory());
      return [server, fullLoadRound(await this.#load(server, 'uniform', pipeline, round))];
    });
  }

  async measureLog(): Promise<void> {
    const workload = 'durability-log';
    const description = 'bytes of log for a million INCR of one key; Redis: appendfsync everysec; QuotaDB: --fsync 100';
    this.#run.progress(`${workload}, one hot key`);
    await this.#measure({ workload, description, pipeline: LOG_PIPELINE }, async (contender, round) => {
      const server = await this.#start(contender, modes['100ms'], this.#makeDirectory());
      const before = await logBytes(server);
      await this.#load(server, 'hot', LOG_PIPELINE, round);
      await delay(SETTLE_MS);
      const statistics = infoField(await ask(server.port, 'INFO', 'commandstats'), 'cmdstat_incr') ?? '';
      const increments = Number(/calls=(\d+)/.exec(statistics)?.[1] ?? 0);
      const bytes = (await logBytes(server)) - before;
      return [server, increments === 0 ? {} : { logBytesPerMillionIncrements: (bytes * MILLION) / increments }];
    });
  }

  async measureStart(): Promise<void> {
    const workload = 'durability-start';
    const description = 'starting in an empty directory, until the line that says ready';
    this.#run.progress(workload);
    await this.#measure({ workload, description, keys: 0, ...NO_LOAD, operationsPerRound: 1 }, async (contender) => {
      const server = await this.#start(contender, modes['100ms'], this.#makeDirectory());
      return [server, { loadSeconds: server.readySeconds }];
    });
  }

  /** Each side starts from its own snapshot: Redis from an RDB file, with nothing else on disk. */
  async measureRecovery(): Promise<void> {
    const keys = this.#options.recoveryKeys;
    const workload = 'durability-recovery';
    const description = 'starting with a full store; Redis: from an RDB file; QuotaDB: from a snapshot';
    this.#run.progress(`${workload}, ${keys} keys`);
    const mode: DurabilityMode = { ...modes.never, redis: NO_APPEND_ONLY };
    const directories = new Map<Contender, string>();
    for (const contender of this.#contenders) {
      const directory = this.#makeDirectory();
      directories.set(contender, directory);
      const server = await this.#start(contender, mode, directory);
      await fill(server, 'plain', keys, this.#run.signal);
      await save(server);
      await ask(server.port, 'CONFIG', 'SET', 'save', '');
      await server.stop();
    }
    await this.#measure({ workload, description, keys, ...NO_LOAD, operationsPerRound: keys }, async (contender) => {
      const directory = directories.get(contender)!;
      const server = await this.#start(contender, mode, directory);
      const held = Number(await ask(server.port, 'DBSIZE'));
      if (held !== keys) throw new Error(`${contender.name} came back with ${held} of ${keys} keys`);
      return [server, { loadSeconds: server.readySeconds, diskBytesPerKey: sizeOf(directory) / keys }];
    });
  }

  /** Every round has a server of its own, one at a time: two that sync would wait for each other. */
  async #measure(
    scenario: Pick<ResultRow, 'workload' | 'description' | 'pipeline'> & Partial<ResultRow>,
    measureRound: (contender: Contender, round: number) => Promise<[RunningServer, Round]>,
  ): Promise<void> {
    const { smoke, keys, rounds, connections, seconds: secondsPerRound } = this.#options;
    const last = new Map<Contender, RunningServer>();
    const measured = await byTurns(this.#contenders, rounds, async (contender, round) => {
      const [server, figures] = await measureRound(contender, round);
      last.set(contender, server);
      await server.stop();
      return figures;
    });
    const usual = { smoke, keys, rounds, connections, warmupSeconds: WARMUP_SECONDS, secondsPerRound };
    const sides = this.#contenders.map((contender, index) =>
      sideOf(last.get(contender)!, [INCREMENT], measured[index]!),
    );
    this.#run.keep(makeRow(this.#run.stamp, { ...usual, operationsPerRound: 0, ...scenario }, sides));
  }

  #load(server: RunningServer, keys: KeyDistribution, pipeline: number, round: number) {
    const { keys: keyCount, connections, seconds } = this.#options;
    const lengths = { warmupMs: WARMUP_SECONDS * 1000, measureMs: seconds * 1000 };
    const job = loadJob(server, { keys, keyCount, seed: round + 1, pipeline, connections, ...lengths });
    return runLoad(job, this.#run.signal);
  }

  #start(contender: Contender, mode: DurabilityMode, directory: string): Promise<RunningServer> {
    this.#run.signal.throwIfAborted();
    const { noLimits, recoveryKeys } = this.#options;
    const data = mode.quotadb.includes('--memory') ? [] : ['--data', directory];
    const common = { redis: ['--dir', directory], quotadb: [...memoryFor(recoveryKeys), ...data] };
    const own = contender.kind === 'quotadb' ? mode.quotadb : mode.redis;
    const inMode = { ...contender, serveArguments: [...own, ...contender.serveArguments] };
    return startContender(inMode, common, !noLimits, this.#run.cleanup);
  }

  #makeDirectory(): string {
    const directory = join(this.#directory, String(++this.#directories));
    mkdirSync(directory);
    return directory;
  }
}

/** The bytes a server has written to its log. */
async function logBytes(server: RunningServer): Promise<number> {
  const info = await ask(server.port, 'INFO', 'persistence');
  return Number(infoField(info, 'quotadb_log_bytes_written') ?? infoField(info, 'aof_current_size') ?? 0);
}

/** Writes a snapshot and waits until it is complete. */
async function save(server: RunningServer): Promise<void> {
  await ask(server.port, 'BGSAVE');
  for (;;) {
    await delay(POLL_MS);
    const info = await ask(server.port, 'INFO', 'persistence');
    const isWritten = server.contender.kind !== 'quotadb' || Number(infoField(info, 'aof_base_size')) > 0;
    if (infoField(info, 'rdb_bgsave_in_progress') !== '0' || !isWritten) continue;
    if (infoField(info, 'rdb_last_bgsave_status') === 'ok') return;
    throw new Error(`${server.name} could not write a snapshot`);
  }
}

function sizeOf(directory: string): number {
  return readdirSync(directory).reduce((total, name) => total + statSync(join(directory, name)).size, 0);
}
