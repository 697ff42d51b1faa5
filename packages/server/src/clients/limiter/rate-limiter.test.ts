import { QuotadbClient, QuotadbHttpClient, RateLimiter } from '@quotadb/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../../testing/index.js';

/** A window that no test is in at its end: from 2004 to 2039. */
const LONG_MS = 2 ** 40;

let server: TestServer;
let client: QuotadbClient<number>;
beforeAll(async () => {
  server = await startTestServer();
  client = QuotadbClient.open({ port: server.port });
  await client.ping();
});
afterAll(async () => {
  await client.close();
  await server.stop();
});

let tests = 0;
const freshPrefix = () => `limiter ${++tests}:`;
const LIMIT = { windowMs: LONG_MS, whenAway: 'closed', stalenessMs: 60_000 } as const;

test('alone it admits exactly the limit', async () => {
  const prefix = freshPrefix();
  const limiter = new RateLimiter({ ...LIMIT, client, prefix, limit: 257 });
  let admitted = 0;
  for (let attempt = 0; attempt < 400; attempt++) if ((await limiter.limitFor('k')).success) admitted++;
  expect(admitted).toBe(257);
  await limiter.close();
  expect((await client.ratePeek(`${prefix}k`, 257, LONG_MS)).remaining).toBe(0);
});

test.each([0, 0.01, 0.1])(
  'ten processes with a share of %s admit together at most ten shares too much, and report all of it',
  async (processShare) => {
    const limit = 500;
    const prefix = freshPrefix();
    const open = () => new RateLimiter({ ...LIMIT, client, prefix, limit, processShare });
    const processes = Array.from({ length: 10 }, open);
    let admitted = 0;
    let seed = 7;
    for (let attempt = 0; attempt < 3_000; attempt++) {
      seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
      if ((await processes[(seed >>> 16) % 10]!.limitFor('k')).success) admitted++;
    }
    await Promise.all(processes.map((each) => each.close()));
    expect(admitted).toBeGreaterThanOrEqual(limit);
    expect(admitted).toBeLessThanOrEqual(limit * (1 + 10 * processShare));
    const [, counted] = (await client.send(['RATE.CELLS', `${prefix}k`, LONG_MS])) as number[];
    expect(counted).toBe(admitted);
  },
);

test('a denied key is admitted after the time that the denial names', async () => {
  const limiter = new RateLimiter({ ...LIMIT, client, prefix: freshPrefix(), limit: 5, windowMs: 100 });
  let denied = await limiter.limitFor('k', 5);
  while (denied.success) denied = await limiter.limitFor('k', 5);
  await new Promise((resolve) => setTimeout(resolve, denied.retryAfterMs));
  while (!(await limiter.limitFor('k', 1)).success);
  await limiter.close();
});

test('a server that refuses a request is not away', async () => {
  const limiter = new RateLimiter({ ...LIMIT, client, limit: 100, whenAway: 'open' });
  await expect(limiter.limitFor('k'.repeat(70_000))).rejects.toThrow('key is too long');
});

test('the limiter waits for a client that connects for the first time', async () => {
  const fresh = QuotadbClient.open({ port: server.port });
  const limiter = new RateLimiter({ ...LIMIT, client: fresh, limit: 5, prefix: freshPrefix() });
  expect(fresh.isReady).toBe(false);
  expect(await limiter.limitFor('k')).toMatchObject({ success: true, reason: 'within' });
  await limiter.close();
  await fresh.close();
});

test('a client without a server is away after the first attempt, over HTTP and over RESP', async () => {
  const gone = await startTestServer();
  await gone.stop();
  const lost = QuotadbClient.open({ port: gone.port });
  const http = new QuotadbHttpClient({ url: `http://127.0.0.1:${gone.httpPort}` });
  for (const backend of [lost, http]) {
    const limiter = new RateLimiter({ ...LIMIT, client: backend, limit: 5, whenAway: 'open' });
    expect(await limiter.limitFor('k')).toMatchObject({ success: true, reason: 'away' });
  }
  expect(lost.isAway).toBe(true);
  await lost.close();
});
