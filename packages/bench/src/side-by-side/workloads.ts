import type { KeyDistribution } from '../load/key-sequence.js';
import { type Command, INCREMENT, KEY, type Request, SAME_KEY } from '../load/request.js';
import type { Dataset, ServerKind } from '../servers/contenders.js';
import { TTL_SECONDS } from '../servers/fill.js';
import { digestOf, SLIDING_WINDOW, TOKEN_BUCKET } from './lua-scripts.js';

/** Bytes of memory that the keys of a dataset take. */
export interface MemoryWorkload {
  readonly name: string;
  readonly description: string;
  /** The keys in the store before a run. */
  readonly dataset: Dataset;
}

/**
 * A load. Both sides get the same bytes wherever both know the command; where Redis has no such command it gets its
 * nearest, and the description names it.
 */
export interface Workload extends MemoryWorkload {
  readonly keys: KeyDistribution;
  /** The requests that are sent over and over, in this order. */
  readonly pattern: (kind: ServerKind) => readonly Request[];
  /** Commands that a server gets once before that. */
  readonly preparation?: (kind: ServerKind) => readonly Command[];
}

const HOUR_MS = '3600000';
/** The year 2096. */
const FAR_TIME_MS = '4000000000000';
const UNREACHED_LIMIT = '1000000000';

const READ: Request = [['GET', KEY]];
const READ_TEN: Request = [['MGET', KEY, KEY, KEY, KEY, KEY, KEY, KEY, KEY, KEY, KEY]];
const INCREMENT_AND_EXPIRE: Request = [
  ['INCR', KEY],
  ['EXPIRE', SAME_KEY, TTL_SECONDS, 'NX'],
];

/** One pattern for QuotaDB, and another for servers that lack the command. */
const differing = (quotadb: Request, redis: Request) => (kind: ServerKind) => [kind === 'quotadb' ? quotadb : redis];

const TAKE: Request = [['QUOTA.TAKE', 'bench', KEY, '1']];
const DEFINE_QUOTA: Command = ['QUOTA.DEFINE', 'bench', 'LIMIT', UNREACHED_LIMIT, 'WINDOW', '86400000'];

/** Keys drawn evenly from keys without a TTL, unless a workload says otherwise. */
type Declared = Pick<Workload, 'name' | 'description' | 'pattern'> & Partial<Workload>;

const declared: readonly Declared[] = [
  { name: 'incr-hot', description: 'INCR, always the same key', keys: 'hot', pattern: () => [INCREMENT] },
  { name: 'incr-uniform', description: 'INCR, every key as likely as any other', pattern: () => [INCREMENT] },
  {
    name: 'incr-zipf',
    description: 'INCR, few keys take most of the traffic (zipf, exponent 0.99)',
    keys: 'zipf',
    pattern: () => [INCREMENT],
  },
  { name: 'get', description: 'GET, every key as likely as any other', pattern: () => [READ] },
  { name: 'mget-10', description: 'MGET of ten keys; one operation is all ten', pattern: () => [READ_TEN] },
  {
    name: 'incrbyex',
    description:
      'increment and start a TTL where there is none, as one step; QuotaDB: INCRBYEX, ' +
      'Redis: MULTI, INCR, EXPIRE NX, EXEC in one write',
    dataset: 'expiring',
    pattern: differing([['INCRBYEX', KEY, '1', TTL_SECONDS]], [['MULTI'], ...INCREMENT_AND_EXPIRE, ['EXEC']]),
  },
  {
    name: 'incr-expire',
    description: 'INCR and EXPIRE NX as two commands in one write, the same on both sides; one operation is both',
    dataset: 'expiring',
    pattern: () => [INCREMENT_AND_EXPIRE],
  },
  {
    name: 'mixed',
    description: '80 % INCR and 20 % GET, every key as likely as any other',
    pattern: () => [INCREMENT, INCREMENT, READ, INCREMENT, INCREMENT],
  },
  {
    name: 'quota-take',
    description:
      'one of a limit that is never reached; QuotaDB: QUOTA.TAKE, Redis: a token bucket in Lua (EVALSHA). ' +
      'The first take of a subject in a window costs more: use few --keys, or a long warm-up',
    preparation: (kind) => [kind === 'quotadb' ? DEFINE_QUOTA : ['SCRIPT', 'LOAD', TOKEN_BUCKET]],
    pattern: differing(TAKE, [['EVALSHA', digestOf(TOKEN_BUCKET), '1', KEY, UNREACHED_LIMIT, '1000', '1']]),
  },
  {
    name: 'quota-take-window',
    description:
      'one of a limit that is never reached; QuotaDB: QUOTA.TAKE, Redis: INCR and EXPIRE NX in one write, ' +
      'the limit left to the client',
    dataset: 'expiring',
    preparation: (kind) => (kind === 'quotadb' ? [DEFINE_QUOTA] : []),
    pattern: differing(TAKE, INCREMENT_AND_EXPIRE),
  },
  {
    name: 'window-incrby',
    description:
      'count in the fixed window of an hour; QuotaDB: WINDOW.INCRBY, ' +
      'Redis: MULTI, INCR, PEXPIREAT, EXEC in one write, the time left out of the key',
    pattern: differing(
      [['WINDOW.INCRBY', KEY, HOUR_MS, '1']],
      [['MULTI'], ['INCR', KEY], ['PEXPIREAT', SAME_KEY, FAR_TIME_MS], ['EXEC']],
    ),
  },
  {
    name: 'rate-limit',
    description:
      'a sliding window of an hour from two counters; QuotaDB: RATE.LIMIT, ' +
      'Redis: the same algorithm as a Lua script by EVALSHA',
    preparation: (kind) => (kind === 'quotadb' ? [] : [['SCRIPT', 'LOAD', SLIDING_WINDOW]]),
    pattern: differing(
      [['RATE.LIMIT', KEY, UNREACHED_LIMIT, HOUR_MS, '1']],
      [['EVALSHA', digestOf(SLIDING_WINDOW), '1', KEY, UNREACHED_LIMIT, HOUR_MS, '1']],
    ),
  },
];

export const workloads: readonly Workload[] = declared.map((load) => ({ keys: 'uniform', dataset: 'plain', ...load }));

export const memoryWorkloads: readonly MemoryWorkload[] = [
  { name: 'memory', description: 'bytes a key costs after INCR of every key', dataset: 'plain' },
  { name: 'memory-expiring', description: 'bytes a key costs after INCR and EXPIRE of every key', dataset: 'expiring' },
];
