import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Common, commonOf, compare, type Output, side } from '../bench.js';
import type { Cleanup } from '../cleanup.js';
import { chooseContenders } from '../contenders.js';
import type { KeyDistribution } from '../load/key-sequence.js';
import { KEY, type Request } from '../load/request.js';
import { runLoad } from '../load/run-load.js';
import { fill } from '../measure/fill.js';
import type { Round } from '../measure/measures.js';
import { byTurns, fullLoadRound, OWN_CLIENT } from '../measure/scenario.js';
import { parseOptions } from '../options.js';
import { formatRow } from '../output/table.js';
import { resultsDirectory } from '../results/environment.js';
import { writeHistory } from '../results/history.js';
import type { ResultRow } from '../results/row.js';
import { ask, infoField } from '../servers/ask.js';
import type { Contender, RunningServer } from '../servers/contender.js';
import { type DurabilityOptions, durabilityHelpText, parseDurabilityOptions } from './options.js';
import { type DurabilityMode, logBytes, modes, startDurable } from './servers.js';

const INCREMENT: readonly Request[] = [[['INCR', KEY]]];
/** Code that was just started is compiled while it runs; what is measured is what comes after. */
const WARMUP_SECONDS = 2;
const MILLION = 1_000_000;
const MEMORY_FOR_FEW_KEYS = '512mb';
const MEMORY_FOR_MANY_KEYS = '1536mb';
const KEYS_FOR_LITTLE_MEMORY = 2_000_000;
/** Both sides write in the background: what the last increments came to is in the log by then. */
const SETTLE_MS = 1500;
const POLL_MS = 20;

/**
 * `quotadb bench durability`: INCR with nothing, something and everything on disk, beside Redis and its append-only
 * file; what a hot key costs in the log; how long a full store takes to start.
 */
export async function runDurabilityBench(
  argv: readonly string[],
  cleanup: Cleanup,
  signal: AbortSignal,
  output: Output,
): Promise<void> {
  const options = parseDurabilityOptions(argv);
  if (options.help) {
    output.print(durabilityHelpText());
    return;
  }
  const bench = new DurabilityBench(options, cleanup, signal, output);
  try {
    await bench.run();
  } finally {
    if (bench.rows.length > 0 && !options.smoke) {
      output.progress(`results: ${writeHistory(resultsDirectory(options.results), bench.rows)}`);
    }
  }
}

class DurabilityBench {
  readonly rows: ResultRow[] = [];
  private readonly options: DurabilityOptions;
  private readonly cleanup: Cleanup;
  private readonly signal: AbortSignal;
  private readonly output: Output;
  private readonly contenders: readonly Contender[];
  private readonly common: Common;
  private readonly directory: string;
  private directories = 0;

  constructor(options: DurabilityOptions, cleanup: Cleanup, signal: AbortSignal, output: Output) {
    this.options = options;
    this.cleanup = cleanup;
    this.signal = signal;
    this.output = output;
    const lanes = options.lanes.length === 0 ? [] : ['--lanes', options.lanes.join(',')];
    const programs = parseOptions(['--redis', options.redis, '--quotadb', options.quotadb, ...lanes]);
    this.contenders = chooseContenders(programs).filter(({ kind }) => kind !== 'valkey');
    this.common = commonOf(options);
    const parent = options.directory || tmpdir();
    mkdirSync(parent, { recursive: true });
    this.directory = mkdtempSync(join(parent, 'quotadb-bench-durability-'));
    const atOnce = () => rmSync(this.directory, { recursive: true, force: true });
    cleanup.add({ gently: async () => atOnce(), atOnce });
  }

  async run(): Promise<void> {
    for (const mode of modes.filter(({ name }) => this.options.modes.includes(name))) {
      for (const pipeline of this.options.pipelines) await this.measureLoad(mode, pipeline);
    }
    if (this.options.log) await this.measureLog();
    if (this.options.recoveryKeys > 0) await this.measureRecovery();
  }

  /** Every round has fresh servers on empty directories, one at a time: two that sync would wait for each other. */
  private async measureLoad(mode: DurabilityMode, pipeline: number): Promise<void> {
    const { connections, seconds, rounds } = this.options;
    this.output.progress(`durability-${mode.name}, pipeline ${pipeline}, ${connections} connections`);
    const last = new Map<Contender, RunningServer>();
    const measured = await byTurns(this.contenders, rounds, async (contender, round) => {
      const server = await this.start(contender, mode, this.makeDirectory());
      last.set(contender, server);
      const result = await this.load(server, 'uniform', pipeline, round);
      await server.stop();
      return fullLoadRound(result);
    });
    this.keep(last, measured, {
      workload: `durability-${mode.name}`,
      description: mode.description,
      pipeline,
      connections,
      warmupSeconds: WARMUP_SECONDS,
      secondsPerRound: seconds,
      operationsPerRound: 0,
    });
  }

  private async measureLog(): Promise<void> {
    const mode = modes.find(({ name }) => name === '100ms') as DurabilityMode;
    const { connections, seconds, rounds } = this.options;
    this.output.progress('durability-log, one hot key');
    const last = new Map<Contender, RunningServer>();
    const measured = await byTurns(this.contenders, rounds, async (contender, round) => {
      const server = await this.start(contender, mode, this.makeDirectory());
      last.set(contender, server);
      const before = await logBytes(server);
      await this.load(server, 'hot', 16, round);
      await delay(SETTLE_MS);
      const counts = infoField(await ask(server.port, 'INFO', 'commandstats'), 'cmdstat_incr') ?? '';
      const increments = Number(/calls=(\d+)/.exec(counts)?.[1] ?? 0);
      const bytes = (await logBytes(server)) - before;
      await server.stop();
      return increments === 0 ? {} : { logBytesPerMillionIncrements: (bytes * MILLION) / increments };
    });
    this.keep(last, measured, {
      workload: 'durability-log',
      description: 'bytes of log for a million INCR of one key; Redis: appendfsync everysec; QuotaDB: --fsync 100',
      pipeline: 16,
      connections,
      warmupSeconds: WARMUP_SECONDS,
      secondsPerRound: seconds,
      operationsPerRound: 0,
    });
  }

  /** Each side starts from its own snapshot: Redis from an RDB file, with nothing else on disk. */
  private async measureRecovery(): Promise<void> {
    const { recoveryKeys, rounds } = this.options;
    this.output.progress(`durability-recovery, ${recoveryKeys} keys`);
    const never = modes.find(({ name }) => name === 'never') as DurabilityMode;
    const mode: DurabilityMode = { ...never, redis: ['--appendonly', 'no'] };
    const directories = new Map<Contender, string>();
    const last = new Map<Contender, RunningServer>();
    for (const contender of this.contenders) {
      const directory = this.makeDirectory();
      directories.set(contender, directory);
      const server = await this.start(contender, mode, directory);
      await fill(server, 'plain', recoveryKeys, this.signal);
      await save(server);
      await ask(server.port, 'CONFIG', 'SET', 'save', '');
      await server.stop();
    }
    const measured = await byTurns(this.contenders, rounds, async (contender): Promise<Round> => {
      const directory = directories.get(contender) as string;
      const startedAtMs = performance.now();
      const server = await this.start(contender, mode, directory);
      const loadSeconds = (performance.now() - startedAtMs) / 1000;
      last.set(contender, server);
      const held = Number(await ask(server.port, 'DBSIZE'));
      if (held !== recoveryKeys) throw new Error(`${contender.name} came back with ${held} of ${recoveryKeys} keys`);
      const diskBytesPerKey = sizeOf(directory) / recoveryKeys;
      await server.stop();
      return { loadSeconds, diskBytesPerKey };
    });
    this.keep(last, measured, {
      workload: 'durability-recovery',
      description: 'starting with a full store; Redis: from an RDB file; QuotaDB: from a snapshot',
      keys: recoveryKeys,
      pipeline: 0,
      connections: 0,
      warmupSeconds: 0,
      secondsPerRound: 0,
      operationsPerRound: recoveryKeys,
    });
  }

  private load(server: RunningServer, keys: KeyDistribution, pipeline: number, round: number) {
    return runLoad(
      {
        port: server.port,
        serverPid: server.pid,
        pattern: INCREMENT,
        keys,
        keyCount: this.options.keys,
        seed: round + 1,
        pipeline,
        connections: this.options.connections,
        warmupMs: WARMUP_SECONDS * 1000,
        measureMs: this.options.seconds * 1000,
        measureOperations: 0,
        operationsPerSecond: 0,
      },
      this.signal,
    );
  }

  private start(contender: Contender, mode: DurabilityMode, directory: string): Promise<RunningServer> {
    this.signal.throwIfAborted();
    const { limits, recoveryKeys } = this.options;
    const maxMemory = recoveryKeys > KEYS_FOR_LITTLE_MEMORY ? MEMORY_FOR_MANY_KEYS : MEMORY_FOR_FEW_KEYS;
    return startDurable({ contender, mode, directory, maxMemory, limits, cleanup: this.cleanup });
  }

  private makeDirectory(): string {
    const directory = join(this.directory, String(++this.directories));
    mkdirSync(directory);
    return directory;
  }

  private keep(
    servers: ReadonlyMap<Contender, RunningServer>,
    measured: readonly (readonly Round[])[],
    row: Partial<Common> & Omit<ResultRow, keyof Common | 'sides' | 'ratiosToRedis' | 'client'>,
  ): void {
    const sides = this.contenders.map((contender, index) =>
      side(servers.get(contender) as RunningServer, INCREMENT, measured[index] as readonly Round[]),
    );
    const whole: ResultRow = { ...this.common, client: OWN_CLIENT, ...row, ...compare(sides) };
    this.rows.push(whole);
    this.output.print(formatRow(whole));
  }
}

/** A snapshot that is complete. */
async function save(server: RunningServer): Promise<void> {
  await ask(server.port, 'BGSAVE');
  for (;;) {
    await delay(POLL_MS);
    const info = await ask(server.port, 'INFO', 'persistence');
    const isWritten = server.contender.kind !== 'quotadb' || Number(infoField(info, 'aof_base_size')) > 0;
    if (infoField(info, 'rdb_bgsave_in_progress') === '0' && isWritten) break;
  }
  const info = await ask(server.port, 'INFO', 'persistence');
  if (infoField(info, 'rdb_last_bgsave_status') !== 'ok') throw new Error(`${server.contender.name} could not save`);
}

function sizeOf(directory: string): number {
  return readdirSync(directory).reduce((total, name) => total + statSync(join(directory, name)).size, 0);
}
