import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { QuotadbClient } from '@quotadb/client';
import type { UsageEvent } from '@quotadb/usage';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { eventually, type SpawnedServer, useProcesses } from '../testing/index.js';

const ROUNDS = 6;
const WORKERS = 8;
/** Of each worker, in each round, before the process is killed: it dies in another state of its export every time. */
const TAKES_FIRST = 5;
const COST = 3;
const ESTIMATE = 10;
/** Longer than a restart takes. */
const HELD_MS = 60_000;
const WINDOW_MS = 1_000;
const PATIENCE_MS = 180_000;
/** A worker that gives a request up ends: on a busy machine none is to, before the server is killed. */
const ANSWER_MS = 60_000;
const FAILURE_RATE = 0.2;

const { serve } = useProcesses();
let directory: string;
let endpoint: Server | undefined;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'quotadb-usage-'));
});
afterEach(() => {
  endpoint?.close();
  endpoint?.closeAllConnections();
  endpoint = undefined;
  rmSync(directory, { recursive: true, force: true });
});

/** What one worker did in one round: tokens that were acknowledged as taken, and those that it never heard of. */
interface Account {
  readonly subject: string;
  acknowledged: number;
  unknown: number;
  /** The request that got no answer: the same again, with its id. */
  repeat?: ((client: QuotadbClient) => Promise<void>) | undefined;
}

/** Takes until the server is gone, each worker in the way of its kind. */
async function work(client: QuotadbClient, account: Account, worker: number): Promise<void> {
  const way = WAYS[worker % WAYS.length]!;
  try {
    for (let request = 0; ; request++) await way(client, account, `${account.subject}-${request}`);
  } catch {
    // The server was killed. The last request may have been done.
  }
}

type Way = (client: QuotadbClient, account: Account, id: string) => Promise<void>;

/** Reserves and commits. Either is repeated with its id, and so billed once. */
const reserves: Way = async (client, account, id) => {
  const commit = async (at: QuotadbClient, reservation: string) => {
    account.repeat = (again) => commit(again, reservation);
    await at.quotaCommit(reservation, COST);
    account.acknowledged += COST;
    account.repeat = undefined;
  };
  const reserve = async (at: QuotadbClient) => {
    account.repeat = reserve;
    const { reservation } = await at.quotaReserve('calls', account.subject, ESTIMATE, HELD_MS, { id });
    if (reservation === undefined) account.repeat = undefined;
    else await commit(at, reservation);
  };
  await reserve(client);
};

const takesWithId: Way = async (client, account, id) => {
  const take = async (at: QuotadbClient) => {
    account.repeat = take;
    if ((await at.quotaTake('calls', account.subject, COST, { id })).allowed) account.acknowledged += COST;
    account.repeat = undefined;
  };
  await take(client);
};

/** The outcome of the last one stays unknown: it has no id. */
const takes: Way = async (client, account) => {
  account.unknown = COST;
  if ((await client.quotaTake('calls', account.subject, COST)).allowed) account.acknowledged += COST;
  account.unknown = 0;
};

const checksFixedWindow: Way = async (client, account) => {
  account.unknown = COST;
  const [allowed] = (await client.send(['LIMIT.CHECK', 'hits', account.subject, COST])) as number[];
  if (allowed === 1) account.acknowledged += COST;
  account.unknown = 0;
};

const WAYS: readonly Way[] = [reserves, takes, checksFixedWindow, takesWithId];

async function run(
  usageExport: string,
  extra: readonly string[],
): Promise<{ accounts: Account[]; last: SpawnedServer }> {
  const accounts: Account[] = [];
  const data = join(directory, 'data');
  const start = async () => {
    const server = serve(['--data', data, '--usage-export', usageExport, ...extra]);
    return { server, ready: await server.ready() };
  };
  for (let round = 0; round < ROUNDS; round++) {
    const { server, ready } = await start();
    const client = QuotadbClient.open({ port: ready.resp, timeoutMs: ANSWER_MS });
    await repeatAll(client, accounts);
    await client.quotaDefine('calls', { limit: 10_000_000, windowMs: WINDOW_MS });
    await client.send(['LIMIT.LOAD', `limits: [{ name: hits, kind: fixed, limit: 10000000, window: ${WINDOW_MS}ms }]`]);
    const fresh = Array.from({ length: WORKERS }, (_, worker) => ({
      subject: `${round}-${worker}`,
      acknowledged: 0,
      unknown: 0,
    }));
    accounts.push(...fresh);
    const working = fresh.map((account, worker) => work(client, account, worker));
    const least = () => Math.min(...fresh.map(({ acknowledged }) => acknowledged));
    const pauseMs = (round * 397) % 1_500;
    await eventually(async () => expect(least()).toBeGreaterThan(TAKES_FIRST * COST));
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    server.child.kill('SIGKILL');
    await server.finished;
    await client.close();
    await Promise.all(working);
  }
  const { server, ready } = await start();
  const client = QuotadbClient.open({ port: ready.resp, timeoutMs: ANSWER_MS });
  await repeatAll(client, accounts);
  await client.close();
  return { accounts, last: server };
}

async function repeatAll(client: QuotadbClient, accounts: readonly Account[]): Promise<void> {
  for (const account of accounts) await account.repeat?.(client);
}

/** Each id once, or always with the same content. */
function sumsOf(events: readonly UsageEvent[]): Map<string, number> {
  const unique = new Map<string, string>();
  for (const event of events) {
    const before = unique.get(event.id);
    const text = JSON.stringify(event);
    if (before !== undefined) expect(text).toBe(before);
    unique.set(event.id, text);
  }
  const sums = new Map<string, number>();
  for (const text of unique.values()) {
    const { subject = '', data } = JSON.parse(text) as UsageEvent;
    sums.set(subject, (sums.get(subject) ?? 0) + data.used);
  }
  return sums;
}

function check(accounts: readonly Account[], sums: ReadonlyMap<string, number>): void {
  for (const { subject, acknowledged, unknown } of accounts) {
    const used = sums.get(subject) ?? 0;
    expect(used, `${subject} has used at least what was acknowledged`).toBeGreaterThanOrEqual(acknowledged);
    expect(used, `${subject} has used at most what was asked for`).toBeLessThanOrEqual(acknowledged + unknown);
  }
}

test.each(['net', 'epoll'])(
  'under kill -9 in a loop every window is in the file once, and the sums are what was acknowledged (%s)',
  async (transport) => {
    const file = join(directory, 'usage.ndjson');
    const { accounts, last } = await run(file, ['--transport', transport, '--usage-export-rotate', '64kb']);
    const events = () =>
      readdirSync(directory)
        .filter((name) => name.startsWith('usage.ndjson'))
        .flatMap((name) => readFileSync(join(directory, name), 'utf8').split('\n'))
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as UsageEvent);
    await eventually(async () => check(accounts, sumsOf(events())));
    // Nothing more comes.
    expect((await last.stop()).code).toBe(0);
    check(accounts, sumsOf(events()));
    const ids = events().map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    const windows = events().map(({ subject, data }) => `${subject} ${data.windowStart}`);
    expect(new Set(windows).size).toBe(windows.length);
  },
  PATIENCE_MS,
);

test(
  'an endpoint that is slow, and fails after it took the events, has each window once by its id',
  async () => {
    const got: UsageEvent[] = [];
    let requests = 0;
    endpoint = createServer(async (request, response) => {
      const body = Buffer.concat(await request.toArray()).toString();
      got.push(...(JSON.parse(body) as UsageEvent[]));
      const isFailing = (++requests * FAILURE_RATE) % 1 < FAILURE_RATE;
      setTimeout(() => response.writeHead(isFailing ? 500 : 204).end(), 30);
    });
    endpoint.listen(0, '127.0.0.1');
    await once(endpoint, 'listening');
    const url = `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}/events`;
    const { accounts, last } = await run(url, ['--transport', 'net']);
    await eventually(async () => check(accounts, sumsOf(got)));
    expect((await last.stop()).code).toBe(0);
    check(accounts, sumsOf(got));
  },
  PATIENCE_MS,
);
