import type { Cleanup } from '../cleanup.js';
import { ask, infoField } from '../servers/ask.js';
import type { Contender, RunningServer } from '../servers/contender.js';
import { FREE_PORTS, readyPort } from '../servers/quotadb.js';
import { freePort } from '../servers/redis.js';
import { startServerProcess } from '../servers/server-process.js';

/** A way to keep things, and what each side calls it. */
export interface DurabilityMode {
  readonly name: string;
  readonly description: string;
  readonly redis: readonly string[];
  readonly quotadb: readonly string[];
}

const APPEND_ONLY = ['--appendonly', 'yes', '--appendfsync'];

export const modes: readonly DurabilityMode[] = [
  {
    name: 'memory',
    description: 'INCR with nothing on disk on either side',
    redis: ['--appendonly', 'no'],
    quotadb: ['--memory'],
  },
  {
    name: 'never',
    description: 'INCR; Redis: append-only file, appendfsync no; QuotaDB: --fsync never',
    redis: [...APPEND_ONLY, 'no'],
    quotadb: ['--fsync', 'never'],
  },
  {
    name: '100ms',
    description: 'INCR; Redis: append-only file, appendfsync everysec; QuotaDB: --fsync 100, ten times as often',
    redis: [...APPEND_ONLY, 'everysec'],
    quotadb: ['--fsync', '100'],
  },
  {
    name: 'always',
    description: 'INCR; Redis: append-only file, appendfsync always; QuotaDB: --fsync always',
    redis: [...APPEND_ONLY, 'always'],
    quotadb: ['--fsync', 'always'],
  },
];

export interface StartOptions {
  readonly contender: Contender;
  readonly mode: DurabilityMode;
  /** Where it keeps what it keeps. */
  readonly directory: string;
  readonly maxMemory: string;
  readonly limits: boolean;
  readonly cleanup: Cleanup;
}

export async function startDurable(options: StartOptions): Promise<RunningServer> {
  const { contender, mode, directory, limits, cleanup } = options;
  const isRedis = contender.kind !== 'quotadb';
  const port = isRedis ? await freePort() : 0;
  const redisArguments = [
    '--port',
    String(port),
    '--bind',
    '127.0.0.1',
    '--dir',
    directory,
    '--save',
    '',
    ...mode.redis,
  ];
  const data = mode.quotadb.includes('--memory') ? [] : ['--data', directory];
  const quotadbArguments = [...FREE_PORTS, '--max-memory', options.maxMemory, ...data, ...mode.quotadb];
  const server = await startServerProcess(
    {
      name: contender.name,
      program: isRedis ? contender.program : process.execPath,
      arguments: () =>
        isRedis ? redisArguments : [contender.program, 'serve', ...quotadbArguments, ...contender.serveArguments],
      readyPort: isRedis ? (line) => (line.includes('Ready to accept connections') ? port : undefined) : readyPort,
    },
    limits,
    cleanup,
  );
  const info = await ask(server.port, 'INFO', 'server');
  const version = infoField(info, `${contender.kind}_version`) ?? infoField(info, 'redis_version') ?? 'unknown';
  const serveArguments = isRedis ? mode.redis : [...mode.quotadb, ...contender.serveArguments];
  return { ...server, contender: { ...contender, serveArguments }, version, dataset: undefined };
}

/** What the log of a server has come to so far. */
export async function logBytes(server: RunningServer): Promise<number> {
  const info = await ask(server.port, 'INFO', 'persistence');
  return Number(infoField(info, 'quotadb_log_bytes_written') ?? infoField(info, 'aof_current_size') ?? 0);
}
