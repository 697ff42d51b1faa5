import { HttpProblem, QuotadbHttpClient, RateLimiter } from '@quotadb/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../../testing/index.js';

const LONG_MS = 2 ** 40;

let server: TestServer;
let client: QuotadbHttpClient;
beforeAll(async () => {
  server = await startTestServer({ countsTokens: ['counting'] });
  client = new QuotadbHttpClient({ url: `http://127.0.0.1:${server.httpPort}/`, token: 'counting' });
});
afterAll(() => server.stop());

test('windows, with every digit', async () => {
  const counted = await client.windowIncrement('käse/ß', LONG_MS, 2n ** 62n + 1n);
  expect(counted.count).toBe(4611686018427387905n);
  expect(await client.windowRead('käse/ß', LONG_MS)).toEqual(counted);
  expect((await client.windowIncrement('named', 1_000_000, 3, { startMs: Date.now() })).count).toBe(3n);
});

test('rate limits, also from the process', async () => {
  expect(await client.rateLimit('k', 10, LONG_MS, 7)).toMatchObject({ allowed: true, limit: 10, remaining: 3 });
  expect(await client.rateLimit('k', 10, LONG_MS, 4)).toMatchObject({ allowed: false, remaining: 3 });
  expect(await client.ratePeek('k', 10, LONG_MS, 3)).toMatchObject({ allowed: true, remaining: 3, retryAfterMs: 0 });
  expect(await client.rateAdd('k', 10, LONG_MS, 5)).toMatchObject({ allowed: false, remaining: 0 });
  const limiter = new RateLimiter({ client, limit: 3, windowMs: LONG_MS, whenAway: 'closed', prefix: 'http:' });
  const outcomes = [];
  for (let attempt = 0; attempt < 5; attempt++) outcomes.push((await limiter.limitFor('k')).success);
  expect(outcomes).toEqual([true, true, true, false, false]);
  await limiter.close();
});

test('a refusal of the server is a problem with its code', async () => {
  const refused = (await client.rateLimit('k', -1, LONG_MS).catch((error: unknown) => error)) as HttpProblem;
  expect(refused).toBeInstanceOf(HttpProblem);
  expect([refused.status, refused.code]).toEqual([400, 'invalid_limit']);
  const stranger = new QuotadbHttpClient({ url: `http://127.0.0.1:${server.httpPort}` });
  await expect(stranger.windowRead('k', 1_000)).rejects.toMatchObject({ status: 401, code: 'unauthenticated' });
});
