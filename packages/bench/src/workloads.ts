import { SLIDING_WINDOW_DIGEST, SLIDING_WINDOW_SCRIPT } from './limits/sliding-window-script.js';
import type { KeyDistribution } from './load/key-sequence.js';
import { type Command, KEY, type Request, SAME_KEY } from './load/request.js';
import { TOKEN_BUCKET, TOKEN_BUCKET_SHA1 } from './token-bucket.js';

/**
 * What is sent, as one table. Both sides get the very same bytes wherever both know the command; where Redis has no such
 * command it gets its nearest, and the description says what that is.
 */
export type ServerKind = 'redis' | 'valkey' | 'quotadb';

/** What must be in the store before a run: keys that never expire, or keys that all have a TTL. */
export type Dataset = 'plain' | 'expiring';

export interface Workload {
  readonly name: string;
  readonly description: string;
  readonly keys: KeyDistribution;
  readonly dataset: Dataset;
  /** The requests that are sent over and over, in this order. */
  readonly pattern: (kind: ServerKind) => readonly Request[];
  /** What a server must be told once before that. */
  readonly preparation?: (kind: ServerKind) => readonly Command[];
}

/** Long enough that no key expires during a run: this measures keeping TTLs, not dropping keys. */
const TTL_SECONDS = '86400';

const HOUR_MS = '3600000';
/** The year 2096. */
const FAR_TIME_MS = '4000000000000';

const INCREMENT: Request = [['INCR', KEY]];
const READ: Request = [['GET', KEY]];
const READ_TEN: Request = [['MGET', KEY, KEY, KEY, KEY, KEY, KEY, KEY, KEY, KEY, KEY]];
const INCREMENT_AND_EXPIRE: Request = [
  ['INCR', KEY],
  ['EXPIRE', SAME_KEY, TTL_SECONDS, 'NX'],
];

const QUOTA_LIMIT = '1000000000';
const DEFINE_QUOTA: Command = ['QUOTA.DEFINE', 'bench', 'LIMIT', QUOTA_LIMIT, 'WINDOW', '86400000'];
const TAKE: Request = [['QUOTA.TAKE', 'bench', KEY, '1']];

export const workloads: readonly Workload[] = [
  {
    name: 'incr-hot',
    description: 'INCR, always the same key',
    keys: 'hot',
    dataset: 'plain',
    pattern: () => [INCREMENT],
  },
  {
    name: 'incr-uniform',
    description: 'INCR, every key as likely as any other',
    keys: 'uniform',
    dataset: 'plain',
    pattern: () => [INCREMENT],
  },
  {
    name: 'incr-zipf',
    description: 'INCR, few keys take most of the traffic (zipf, exponent 0.99)',
    keys: 'zipf',
    dataset: 'plain',
    pattern: () => [INCREMENT],
  },
  {
    name: 'get',
    description: 'GET, every key as likely as any other',
    keys: 'uniform',
    dataset: 'plain',
    pattern: () => [READ],
  },
  {
    name: 'mget-10',
    description: 'MGET of ten keys; one operation is all ten',
    keys: 'uniform',
    dataset: 'plain',
    pattern: () => [READ_TEN],
  },
  {
    name: 'incrbyex',
    description:
      'increment and start a TTL where there is none, as one step; QuotaDB: INCRBYEX, Redis: MULTI, INCR, EXPIRE NX, EXEC in one write',
    keys: 'uniform',
    dataset: 'expiring',
    pattern: (kind) =>
      kind === 'quotadb' ? [[['INCRBYEX', KEY, '1', TTL_SECONDS]]] : [[['MULTI'], ...INCREMENT_AND_EXPIRE, ['EXEC']]],
  },
  {
    name: 'incr-expire',
    description: 'INCR and EXPIRE NX as two commands in one write, the same on both sides; one operation is both',
    keys: 'uniform',
    dataset: 'expiring',
    pattern: () => [INCREMENT_AND_EXPIRE],
  },
  {
    name: 'mixed',
    description: '80 % INCR and 20 % GET, every key as likely as any other',
    keys: 'uniform',
    dataset: 'plain',
    pattern: () => [INCREMENT, INCREMENT, READ, INCREMENT, INCREMENT],
  },
  {
    name: 'quota-take',
    description:
      'one of a limit that is never reached; QuotaDB: QUOTA.TAKE, Redis: a token bucket in Lua (EVALSHA). The first take of a subject in a window costs more: use few --keys, or a long warm-up',
    keys: 'uniform',
    dataset: 'plain',
    preparation: (kind) => (kind === 'quotadb' ? [DEFINE_QUOTA] : [['SCRIPT', 'LOAD', TOKEN_BUCKET]]),
    pattern: (kind) =>
      kind === 'quotadb' ? [TAKE] : [[['EVALSHA', TOKEN_BUCKET_SHA1, '1', KEY, QUOTA_LIMIT, '1000', '1']]],
  },
  {
    name: 'quota-take-window',
    description:
      'one of a limit that is never reached; QuotaDB: QUOTA.TAKE, Redis: INCR and EXPIRE NX in one write, the limit left to the client',
    keys: 'uniform',
    dataset: 'expiring',
    preparation: (kind) => (kind === 'quotadb' ? [DEFINE_QUOTA] : []),
    pattern: (kind) => (kind === 'quotadb' ? [TAKE] : [INCREMENT_AND_EXPIRE]),
  },
  {
    name: 'window-incrby',
    description:
      'count in the fixed window of an hour; QuotaDB: WINDOW.INCRBY, Redis: MULTI, INCR, PEXPIREAT, EXEC in one write, the time left out of the key',
    keys: 'uniform',
    dataset: 'plain',
    pattern: (kind) =>
      kind === 'quotadb'
        ? [[['WINDOW.INCRBY', KEY, HOUR_MS, '1']]]
        : [[['MULTI'], ['INCR', KEY], ['PEXPIREAT', SAME_KEY, FAR_TIME_MS], ['EXEC']]],
  },
  {
    name: 'rate-limit',
    description:
      'a sliding window of an hour from two counters; QuotaDB: RATE.LIMIT, Redis: the same algorithm as a Lua script by EVALSHA',
    keys: 'uniform',
    dataset: 'plain',
    pattern: (kind) =>
      kind === 'quotadb'
        ? [[['RATE.LIMIT', KEY, '1000000000', HOUR_MS, '1']]]
        : [[['EVALSHA', SLIDING_WINDOW_DIGEST, '1', KEY, '1000000000', HOUR_MS, '1']]],
    preparation: (kind) => (kind === 'quotadb' ? [] : [['SCRIPT', 'LOAD', SLIDING_WINDOW_SCRIPT]]),
  },
];

/** How a dataset is made: each key once. */
export const fills: Readonly<Record<Dataset, readonly Request[]>> = {
  plain: [INCREMENT],
  expiring: [
    [
      ['INCR', KEY],
      ['EXPIRE', SAME_KEY, TTL_SECONDS],
    ],
  ],
};

export interface MemoryWorkload {
  readonly name: string;
  readonly description: string;
  readonly dataset: Dataset;
}

export const memoryWorkloads: readonly MemoryWorkload[] = [
  { name: 'memory', description: 'bytes a key costs after INCR of every key', dataset: 'plain' },
  { name: 'memory-expiring', description: 'bytes a key costs after INCR and EXPIRE of every key', dataset: 'expiring' },
];
