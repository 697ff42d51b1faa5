import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Operation } from '@quotadb/http';
import { type Command, commands } from '@quotadb/resp';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { apis } from '../http/ports/apis.js';
import { eventually, startTestServer, TestClient, type TestServer } from '../testing/index.js';

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

type Words = readonly (string | number)[];
const HOUR_MS = 3_600_000;
const TIMEOUT_MS = 40;
const CATALOGUE = `
limits:
  - { name: daily, kind: exact, limit: 1000, window: 1d }
  - { name: jobs, kind: concurrency, limit: 10, hold: 60s }
`;

const SET_UP: readonly Words[] = [
  ...['del', 'unlink', 'getdel', 'rename', 'move', 'flushall'].map((name) => ['SET', `for:${name}`, 1]),
  ['SETEX', 'for:persist', 1000, 1],
  ['QUOTA.DEFINE', 'calls', 'LIMIT', 1000, 'WINDOW', '1d'],
  ['QUOTA.DEFINE', 'endless', 'LIMIT', 1000, 'WINDOW', 'NONE'],
  ['QUOTA.DEFINE', 'seats', 'LIMIT', 100, 'LEASE', 600_000],
  ...[1, 2].map((at) => ['QUOTA.DEFINE', `dropped:${at}`, 'LIMIT', 10, 'WINDOW', '1d']),
  ['LIMIT.LOAD', CATALOGUE],
  ...['first', 'second'].map((lease) => ['LIMIT.CHECK', 'jobs', 's', 1, 'LEASE', lease]),
  ['LIMIT.CHECK', 'daily', 's', 20],
  ['QUOTA.TAKE', 'calls', 's', 20],
  ['QUOTA.TAKE', 'endless', 's', 20],
];

/** Ids that the examples settle, each once. */
const held = { reservations: [] as string[], leases: [] as string[] };
const next = (ids: string[]) => ids.shift() ?? 'none is left';

/** Of every command that changes something, words behind its name that do. In this order. */
const WAITING: Readonly<Record<string, () => Words>> = {
  incr: () => ['n'],
  decr: () => ['n'],
  incrby: () => ['n', 2],
  decrby: () => ['n', 2],
  set: () => ['n', 5],
  setex: () => ['n', 100, 5],
  psetex: () => ['n', 100_000, 5],
  setnx: () => ['new:1', 5],
  getset: () => ['n', 6],
  getdel: () => ['for:getdel'],
  getex: () => ['n', 'EX', 100],
  mset: () => ['n', 1, 'm', 2],
  msetnx: () => ['new:2', 1, 'new:3', 2],
  increx: () => ['n', 'EX', 100],
  incrbyex: () => ['n', 1, 100],
  'window.incrby': () => ['n', HOUR_MS, 1],
  'rate.limit': () => ['n', 100, HOUR_MS, 1],
  'rate.add': () => ['n', 100, HOUR_MS, 1],
  'rate.limitall': () => [1, 'n', 100, HOUR_MS],
  'rate.gcra': () => ['gcra', 10, 10, '60s'],
  del: () => ['for:del'],
  unlink: () => ['for:unlink'],
  expire: () => ['n', 100],
  pexpire: () => ['n', 100_000],
  expireat: () => ['n', 4_000_000_000],
  pexpireat: () => ['n', 4_000_000_000_000],
  persist: () => ['for:persist'],
  rename: () => ['for:rename', 'renamed'],
  renamenx: () => ['renamed', 'renamed:again'],
  copy: () => ['n', 'copied'],
  move: () => ['for:move', 1],
  eval: () => ["return redis.call('incr', KEYS[1])", 1, 'n'],
  'limit.check': () => ['daily', 's'],
  'limit.release': () => ['jobs', 's', 'first'],
  'limit.refund': () => ['daily', 's', 1],
  'limit.reset': () => ['daily', 's'],
  'limit.set': () => ['{"name": "other", "kind": "exact", "limit": 100, "window": "1d"}'],
  'limit.drop': () => ['other'],
  'quota.take': () => ['calls', 's', 1],
  'quota.takeall': () => [1, 'calls', 's', 1],
  'quota.reserve': () => ['calls', 's', 5, 'TTL', 60_000],
  'quota.commit': () => [next(held.reservations), 2],
  'quota.cancel': () => [next(held.reservations)],
  'quota.acquire': () => ['seats', 's', 'TTL', 60_000],
  'quota.renew': () => [held.leases[0], 'TTL', 60_000],
  'quota.release': () => [next(held.leases)],
  'quota.refund': () => ['calls', 's', 1],
  'quota.reset': () => ['calls', 's'],
  'quota.extra': () => ['calls', 's', 5],
  'quota.define': () => ['calls', 'LIMIT', 900, 'WINDOW', '1d'],
  'quota.drop': () => ['dropped:1'],
  'quota.home': () => ['KEEP'],
  'quota.remint': () => ['endless', 'LOST', 'us/b'],
  'limit.load': () => [CATALOGUE],
  flushdb: () => [],
};

/** Commands with the flag `write` whose replies do not wait, and why. */
const NOT_WAITING: Readonly<Record<string, string>> = {
  flushall: 'it is FLUSHDB under another name, and its example left nothing to remove',
  incrbyfloat: 'it is refused: counters are integers',
  swapdb: 'it is refused: other regions count in these keys too',
  'function delete': 'functions are not supported',
  'function flush': 'functions are not supported: there are none to remove',
  'function load': 'functions are not supported',
  'function restore': 'functions are not supported',
};

/** Of every operation over HTTP that is no GET. */
const WAITING_OVER_HTTP: Readonly<Record<string, () => readonly [path: string, body?: object]>> = {
  incrementWindow: () => ['/api/v1/windows/n/increment', { windowMs: HOUR_MS, amount: 1 }],
  takeFromLimit: () => ['/api/v1/limits/n/take', { limit: 100, windowMs: HOUR_MS }],
  addToLimit: () => ['/api/v1/limits/n/add', { limit: 100, windowMs: HOUR_MS }],
  checkLimit: () => ['/api/v1/limits/check', { name: 'daily', subject: 's' }],
  releaseLeasesOfCheck: () => ['/api/v1/limits/release', { name: 'jobs', subject: 's', lease: 'second' }],
  refundSubject: () => ['/api/v1/limits/named/daily/subjects/s/refund', { amount: 1 }],
  resetSubject: () => ['/api/v1/limits/named/daily/subjects/s/reset', {}],
  giveExtra: () => ['/api/v1/limits/named/daily/subjects/s/extra', { amount: 1 }],
  setLimit: () => ['/api/v1/limits/named/other', { name: 'other', kind: 'exact', limit: 10, window: '1d' }],
  dropLimit: () => ['/api/v1/limits/named/other'],
  replaceCatalogue: () => ['/api/v1/limits', { limits: [{ name: 'new', kind: 'exact', limit: 10, window: '1d' }] }],
  takeQuota: () => ['/api/v1/quotas/calls/take', { subject: 's', cost: 1 }],
  takeAllQuotas: () => ['/api/v1/quotas/take-all', { items: [{ name: 'calls', subject: 's', cost: 1 }] }],
  reserveQuota: () => ['/api/v1/quotas/calls/reserve', { subject: 's', estimate: 2, ttlMs: 60_000 }],
  commitReservation: () => [`/api/v1/quotas/reservations/${encoded(next(held.reservations))}/commit`, { actual: 1 }],
  cancelReservation: () => [`/api/v1/quotas/reservations/${encoded(next(held.reservations))}`],
  acquireLease: () => ['/api/v1/quotas/seats/acquire', { subject: 's', ttlMs: 60_000 }],
  renewLease: () => [`/api/v1/quotas/leases/${encoded(held.leases[0])}/renew`, { ttlMs: 60_000 }],
  releaseLease: () => [`/api/v1/quotas/leases/${encoded(next(held.leases))}`],
  defineQuota: () => ['/api/v1/quotas/calls', { limit: 800, windowMs: 24 * HOUR_MS }],
  dropQuota: () => ['/api/v1/quotas/dropped:2'],
};
const encoded = encodeURIComponent;

/** APIs that change nothing of what servers replicate. */
const OTHER_APIS: Readonly<Record<string, string>> = {
  counts: 'PostgreSQL is their record',
  dashboard: 'it has its own session cookies, and no counters',
};

let directory: string;
let server: TestServer;
let other: TestServer;

/** A connection each: a reply that did not come in time ends it. */
async function call(...words: Words): Promise<string> {
  const client = await TestClient.open(server.port);
  try {
    return await client.call(...(words as [string]));
  } finally {
    client.close();
  }
}

async function idOf(...words: Words): Promise<string> {
  let id = '';
  await eventually(async () => {
    const reply = await call(...words);
    expect(reply).toMatch(/^\*6\r\n:1\r\n\$/);
    id = reply.split('\r\n')[3];
  });
  return id;
}

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'quotadb-acknowledged-'));
  const dataOf = (member: string) => ({ region: 'us', member, home: 'us/a', dataDirectory: join(directory, member) });
  other = await startTestServer({ ...dataOf('b'), replicationPort: 0 });
  const port = other.server.state.identity.replicationPort as number;
  server = await startTestServer({
    ...dataOf('a'),
    peers: [{ region: 'us/b', host: '127.0.0.1', port }],
    ...{ replicateBeforeReply: 1, replicateTimeoutMs: TIMEOUT_MS, ratePublishPercent: 0, databases: 2 },
  });
  await eventually(async () => expect(await call('INCR', 'n')).toMatch(/^:/));
  // A change stays though its reply did not come in time.
  for (const words of SET_UP) expect(await call(...words)).toMatch(/^[^-]|^-NOREPLICAS /);
  for (let count = 0; count < 4; count++)
    held.reservations.push(await idOf('QUOTA.RESERVE', 'calls', 's', 5, 'TTL', 600_000));
  for (let count = 0; count < 2; count++) held.leases.push(await idOf('QUOTA.ACQUIRE', 'seats', 's', 'TTL', 600_000));
  await other.stop();
});
afterAll(async () => {
  await server.stop();
  await rm(directory, { recursive: true });
});

function writeCommandsOf({ name, flags, subcommands = [] }: Command, parent = ''): string[] {
  const fullName = `${parent}${name}`;
  return [
    ...(flags.includes('write') ? [fullName] : []),
    ...subcommands.flatMap((command) => writeCommandsOf(command, `${fullName} `)),
  ];
}

describe('with --replicate-before-reply, while no other server acknowledges anything,', () => {
  test('every write command has an example here, or a reason why its reply does not wait', () => {
    const known = [...Object.keys(WAITING), ...Object.keys(NOT_WAITING)].filter((name) => name !== 'eval');
    expect(known.sort()).toEqual(commands.flatMap((command) => writeCommandsOf(command)).sort());
  });

  test.each(Object.keys(WAITING))('%s is not acknowledged', async (name) => {
    expect(await call(name, ...WAITING[name]())).toMatch(/^-NOREPLICAS fewer than 1 other servers/);
  });

  test('neither is a transaction', async () => {
    const client = await TestClient.open(server.port);
    for (const words of [['MULTI'], ['QUOTA.TAKE', 'endless', 's', 1]]) await client.call(...(words as [string]));
    expect(await client.call('EXEC')).toMatch(/^-NOREPLICAS /);
    client.close();
  });

  test('every operation over HTTP that changes something has an example here', () => {
    const served = apis.filter(({ name }) => !(name in OTHER_APIS)).flatMap(({ operations }) => operations);
    const changing = (served as readonly Operation[]).filter(({ method }) => method !== 'GET').map(({ id }) => id);
    expect(Object.keys(WAITING_OVER_HTTP).sort()).toEqual(changing.sort());
  });

  test.each(Object.keys(WAITING_OVER_HTTP))('%s is answered with 504 not_replicated', async (id) => {
    const all = apis.flatMap(({ operations }) => operations) as readonly Operation[];
    const { method } = all.find((operation) => operation.id === id) as Operation;
    const [path, body] = WAITING_OVER_HTTP[id]();
    const text = body && JSON.stringify(body);
    const answer = await fetch(`http://127.0.0.1:${server.httpPort}${path}`, {
      method,
      ...(text && { body: text, headers: { 'Content-Type': 'application/json' } }),
    });
    expect(await answer.json()).toMatchObject({ status: 504, code: 'not_replicated' });
  });

  test('what reads or is denied is answered at once', async () => {
    expect(await call('GET', 'm')).toMatch(/^\$/);
    expect(await call('QUOTA.PEEK', 'endless', 's')).toMatch(/^\*/);
    expect(await call('QUOTA.TAKE', 'endless', 's', 100_000)).toMatch(/^\*5\r\n:0\r\n/);
  });
});
