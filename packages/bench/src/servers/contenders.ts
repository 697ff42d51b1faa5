import type { Cleanup } from '../machine/cleanup.js';
import { findExecutable, isExecutable } from '../machine/executable.js';
import { ask, infoField } from './ask.js';
import { requireQuotaDB, startQuotaDB } from './quotadb.js';
import { requireRedis, startRedis } from './redis.js';
import type { ServerProcess } from './server-process.js';

export type ServerKind = 'redis' | 'valkey' | 'quotadb';

/** One side of the comparison. */
export interface Contender {
  /** Unique: `redis`, `valkey`, `quotadb`, `quotadb 2 lanes`. */
  readonly name: string;
  readonly kind: ServerKind;
  readonly program: string;
  readonly serveArguments: readonly string[];
}

/** The keys in a store before a run: keys that never expire, or keys that all have a TTL. */
export type Dataset = 'plain' | 'expiring';

export interface RunningServer extends ServerProcess {
  readonly contender: Contender;
  readonly version: string;
  /** The keys it was last filled with. */
  dataset: Dataset | undefined;
}

export interface ContenderChoice {
  readonly redis: string;
  readonly quotadb: string;
  /** Empty: QuotaDB's own default, as one side. */
  readonly lanes: readonly number[];
  readonly serveArguments?: readonly string[];
}

/** Redis first, because the others are compared with it; then QuotaDB, once for each number of lanes. */
export function chooseContenders({ redis, quotadb, lanes, serveArguments = [] }: ContenderChoice): Contender[] {
  const baseline: Contender = { name: 'redis', kind: 'redis', program: requireRedis(redis), serveArguments: [] };
  const common = { kind: 'quotadb' as const, program: requireQuotaDB(quotadb) };
  // Settings that change the figures are part of the name: the history must not mix them up.
  const suffix = serveArguments.map((word) => ` ${word}`).join('');
  if (lanes.length === 0) return [baseline, { ...common, name: `quotadb${suffix}`, serveArguments }];
  const sides = lanes.map((count) => ({
    ...common,
    name: `quotadb ${count} ${count === 1 ? 'lane' : 'lanes'}${suffix}`,
    serveArguments: ['--lanes', String(count), ...serveArguments],
  }));
  return [baseline, ...sides];
}

/** Valkey takes part where it is given or on the PATH. */
export function chooseValkey(given: string): Contender[] {
  if (given !== '' && !isExecutable(given)) throw new Error(`--valkey: ${given} is not an executable file`);
  const program = given || findExecutable('valkey-server');
  return program === undefined ? [] : [{ name: 'valkey', kind: 'valkey', program, serveArguments: [] }];
}

/** Of the 2 GiB a limited server has, QuotaDB keeps keys in this much: the rest is for its code and its clients. */
const MEMORY_FOR_MANY_KEYS = '1536mb';
/** Above this the server's default may be too small. */
const KEYS_FOR_DEFAULT_MEMORY = 2_000_000;

/** The flags that give QuotaDB room for this number of keys. */
export function memoryFor(keys: number): string[] {
  return keys > KEYS_FOR_DEFAULT_MEMORY ? ['--max-memory', MEMORY_FOR_MANY_KEYS] : [];
}

/** Starts a contender with its own arguments behind the flags that its kind of server gets. */
export async function startContender(
  contender: Contender,
  flags: { readonly redis: readonly string[]; readonly quotadb: readonly string[] },
  limits: boolean,
  cleanup: Cleanup,
): Promise<RunningServer> {
  const { name, kind, program, serveArguments } = contender;
  const server =
    kind === 'quotadb'
      ? await startQuotaDB({ name, program, flags: [...flags.quotadb, ...serveArguments], limits }, cleanup)
      : await startRedis(name, program, [...flags.redis, ...serveArguments], limits, cleanup);
  const info = await ask(server.port, 'INFO', 'server');
  const version = infoField(info, `${kind}_version`) ?? infoField(info, 'redis_version') ?? 'unknown';
  return { ...server, contender, version, dataset: undefined };
}
