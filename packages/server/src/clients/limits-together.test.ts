import { QuotadbClient } from '@quotadb/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../testing/index.js';

/** A window that no test is in at its end: from 2004 to 2039. */
const LONG_MS = 2 ** 40;
const CONNECTIONS = 8;
const ATTEMPTS = 400;

let server: TestServer;
let clients: QuotadbClient<number>[];
beforeAll(async () => {
  server = await startTestServer();
  clients = Array.from({ length: CONNECTIONS }, () => QuotadbClient.open({ port: server.port, timeoutMs: 0 }));
  await Promise.all(clients.map((client) => client.ping()));
});
afterAll(async () => {
  await Promise.all(clients.map((client) => client.close()));
  await server.stop();
});

/** All connections at once, on whichever lanes they are. */
async function attempts<Result>(attempt: (client: QuotadbClient<number>, index: number) => Promise<Result>) {
  const perClient = clients.map((client) =>
    Promise.all(Array.from({ length: ATTEMPTS }, (_, index) => attempt(client, index))),
  );
  return (await Promise.all(perClient)).flat();
}

test('RATE.LIMIT admits exactly the limit, however many ask at once', async () => {
  const limit = (CONNECTIONS * ATTEMPTS) / 2;
  const decisions = await attempts((client) => client.rateLimit('limit', limit, LONG_MS));
  const admitted = decisions.filter(({ allowed }) => allowed);
  expect(admitted).toHaveLength(limit);
  // Each of those who were admitted saw a count of its own.
  expect(new Set(admitted.map(({ remaining }) => remaining)).size).toBe(limit);
  expect((await clients[0]!.ratePeek('limit', limit, LONG_MS)).remaining).toBe(0);
});

test('RATE.LIMITALL charges all limits or none, however many ask at once', async () => {
  const rules = (index: number) => [
    { key: 'all:shared', limit: 900, windowMs: LONG_MS },
    { key: `all:${index % 2}`, limit: 600, windowMs: LONG_MS },
  ];
  const outcomes = await attempts((client, index) => client.rateLimitAll(rules(index)));
  const admitted = outcomes.filter(({ allowed }) => allowed).length;
  const counted = async (key: string) => ((await clients[0]!.send(['RATE.CELLS', key, LONG_MS])) as number[])[1]!;
  expect(admitted).toBe(900);
  expect(await counted('all:shared')).toBe(900);
  expect((await counted('all:0')) + (await counted('all:1'))).toBe(900);
});

test('RATE.GCRA gives out exactly what a bucket holds, however many ask at once', async () => {
  const bucket = { burst: 499, count: 1, periodMs: 2 ** 30 };
  const decisions = await attempts((client) => client.gcra('bucket', bucket));
  expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(500);
});

test('WINDOW.INCRBY gives every caller a count of its own, however many count at once', async () => {
  const counts = await attempts((client) => client.windowIncrement('window', LONG_MS));
  expect(new Set(counts.map(({ count }) => count)).size).toBe(CONNECTIONS * ATTEMPTS);
});
