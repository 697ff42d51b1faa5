import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { QuotadbClient } from '@quotadb/client';
import type { UsageEvent } from '@quotadb/usage';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createServer as createQuotadb } from '../lifecycle/create-server.js';
import { eventually, useTestServers } from '../testing/index.js';

const WINDOW_MS = 1_000;
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
// After the hook above, because hooks run in reverse: a server is stopped before its directory is removed.
const startServer = useTestServers();

/** The sum of usage by subject, each id once. */
function sumsOf(events: readonly UsageEvent[]): Record<string, number> {
  const sums: Record<string, number> = {};
  const unique = new Map(events.map((event) => [`${event.source} ${event.id}`, event]));
  for (const { subject = '', data } of unique.values()) sums[subject] = (sums[subject] ?? 0) + data.used;
  return sums;
}

function eventsIn(path: string): UsageEvent[] {
  try {
    const lines = readFileSync(path, 'utf8').split('\n');
    return lines.filter((line) => line !== '').map((line) => JSON.parse(line));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

async function open(usageExport: string): Promise<QuotadbClient> {
  const { port } = await startServer({ dataDirectory: join(directory, 'data'), usageExport });
  const client = QuotadbClient.open(`quotadb://127.0.0.1:${port}`);
  await client.quotaDefine('calls', { limit: 100_000, windowMs: WINDOW_MS });
  await client.quotaDefine('bytes', { limit: 100_000, windowMs: WINDOW_MS });
  await client.quotaDefine('jobs', { limit: 5, leaseMs: 1_000 });
  return client;
}

/** An endpoint that answers as the test says, and keeps what it got. */
async function listen(answer: (request: number) => number | undefined): Promise<{ url: string; got: UsageEvent[][] }> {
  const got: UsageEvent[][] = [];
  endpoint = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString();
    expect(request.headers['content-type']).toBe('application/cloudevents-batch+json');
    got.push(JSON.parse(body));
    const status = answer(got.length);
    if (status !== undefined) response.writeHead(status).end();
    else response.destroy();
  });
  endpoint.listen(0, '127.0.0.1');
  await once(endpoint, 'listening');
  return { url: `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}/api/v1/events`, got };
}

test('takes of every kind are exported as they were charged: plain, of several limits, and settled reservations', async () => {
  const file = join(directory, 'usage.ndjson');
  const client = await open(file);
  try {
    for (let index = 0; index < 50; index++) await client.quotaTake('calls', 'alice', 2);
    const items = ['calls', 'bytes'].map((name) => ({ name, subject: 'bob', cost: 10 }));
    await client.quotaTakeAll(items);
    // Denied as a whole: the second limit has too little, so the first is not used either.
    expect((await client.quotaTakeAll([items[0]!, { ...items[1]!, cost: 100_000 }])).allowed).toBe(false);
    const less = await client.quotaReserve('calls', 'carol', 100, 60_000);
    const more = await client.quotaReserve('calls', 'dave', 100, 60_000);
    const none = await client.quotaReserve('calls', 'erin', 100, 60_000);
    const kept = await client.quotaReserve('calls', 'frank', 100, 100, { lapse: 'charge' });
    await client.quotaReserve('calls', 'grace', 100, 100);
    await client.quotaAcquire('jobs', 'alice', 1_000);
    expect(kept.allowed).toBe(true);
    await client.quotaCommit(less.reservation!, 30);
    await client.quotaCommit(more.reservation!, 170);
    await client.quotaCancel(none.reservation!);
    await eventually(async () =>
      expect(sumsOf(eventsIn(file))).toEqual({ alice: 100, bob: 20, carol: 30, dave: 170, frank: 100 }),
    );
    const ids = eventsIn(file).map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
  } finally {
    await client.close();
  }
});

test('LIMIT.CHECK is billed as its exact and fixed limits are charged: parents and shadows too, a denied request not at all', async () => {
  const file = join(directory, 'usage.ndjson');
  const client = await open(file);
  const catalogue = `
limits:
  - { name: user, kind: exact, limit: 50, window: 1s, parent: org }
  - { name: org, kind: exact, limit: 5000, window: 1s }
  - { name: trial, kind: exact, limit: 5000, window: 1s, shadow: true }
  - { name: slide, kind: sliding, limit: 5000, window: 1s }
  - { name: hits, kind: fixed, limit: 12, window: 1s, parent: org }
`;
  try {
    await client.send(['LIMIT.LOAD', catalogue]);
    const check = async (...words: (string | number)[]) => (await client.send(['LIMIT.CHECK', ...words])) as number[];
    let taken = 0;
    for (let index = 0; index < 20; index++) if ((await check('user', 'acme/alice', 10))[0] === 1) taken += 10;
    expect((await check('user', 'acme/bob', 60))[0]).toBe(0);
    await check('trial', 'acme', 7);
    await check('slide', 'acme', 7);
    let hits = 0;
    for (let index = 0; index < 20; index++) if ((await check('hits', 'acme/alice', 5))[0] === 1) hits += 5;
    const sums = () =>
      Object.fromEntries(
        ['user', 'org', 'trial', 'slide', 'hits'].map((name) => [
          name,
          eventsIn(file).reduce((sum, { data }) => sum + ((data.quota ?? data.limit) === name ? data.used : 0), 0),
        ]),
      );
    await eventually(async () => expect(sums()).toEqual({ user: taken, org: taken + hits, trial: 7, slide: 0, hits }));
    const types = new Set(eventsIn(file).map(({ type, data }) => `${type} ${data.limit === undefined}`));
    expect(types).toEqual(new Set(['quotadb.quota.used true', 'quotadb.limit.used false']));
  } finally {
    await client.close();
  }
});

test('tokens that an operator refunds are not billed', async () => {
  const file = join(directory, 'usage.ndjson');
  const client = await open(file);
  try {
    await client.quotaTake('calls', 'alice', 10);
    const [refunded] = (await client.send(['QUOTA.REFUND', 'calls', 'alice', 4])) as number[];
    await client.quotaTake('calls', 'bob', 3);
    const [reset] = (await client.send(['QUOTA.RESET', 'calls', 'bob'])) as number[];
    await client.quotaTake('calls', 'carol', 1);
    // 0 where a new window began in between.
    const billed = { alice: 10 - refunded!, ...(reset === 0 && { bob: 3 }), carol: 1 };
    await eventually(async () => expect(sumsOf(eventsIn(file))).toEqual(billed));
  } finally {
    await client.close();
  }
});

test('an endpoint that fails, hangs up, and answers 500 after it took the events gets each under one id', async () => {
  const answers = [500, undefined, 503, 200];
  const { url, got } = await listen((request) => (request <= answers.length ? answers[request - 1] : 200));
  const client = await open(url);
  try {
    await client.quotaTake('calls', 'alice', 7);
    await eventually(async () => expect(got.length).toBeGreaterThanOrEqual(answers.length));
    const texts = got.slice(0, answers.length).map((events) => JSON.stringify(events));
    expect(new Set(texts).size).toBe(1);
    await eventually(async () => expect(sumsOf(got.flat())).toEqual({ alice: 7 }));
  } finally {
    await client.close();
  }
});

test('a subject that is not UTF-8 is exported as base64', async () => {
  const file = join(directory, 'usage.ndjson');
  const client = await open(file);
  try {
    await client.quotaTake('calls', Uint8Array.of(0xff, 0x00), 3);
    await eventually(async () =>
      expect(eventsIn(file)[0]).toMatchObject({ subject: '/wA=', data: { subjectBase64: '/wA=' } }),
    );
  } finally {
    await client.close();
  }
});

test('it needs a disk, and says so', () => {
  expect(() => createQuotadb({ usageExport: 'usage.ndjson' })).toThrow('--usage-export: needs --data');
});
