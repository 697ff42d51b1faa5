import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import fastifyRateLimitPlugin from '@fastify/rate-limit';
import { serve } from '@hono/node-server';
import {
  ExpressRateLimitStore,
  expressRateLimit,
  fastifyRateLimit,
  fastifyRateLimitStore,
  honoRateLimit,
  type LimitResult,
  Quota,
  QuotadbClient,
  RateLimiter,
} from '@quotadb/client';
import express from 'express';
import { rateLimit } from 'express-rate-limit';
import Fastify, { type FastifyReply } from 'fastify';
import { Hono } from 'hono';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../../testing/index.js';

const HOUR_MS = 3_600_000;

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

const closers: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

let tests = 0;
function makeLimiter(limit: number, away = false): RateLimiter {
  const backend = away ? ({ isAway: true } as never) : client;
  return new RateLimiter({ client: backend, limit, windowMs: HOUR_MS, whenAway: 'closed', prefix: `m${++tests}:` });
}

const get = (port: number, headers: Record<string, string> = {}) => fetch(`http://127.0.0.1:${port}/`, { headers });

async function serveExpress(...middleware: express.RequestHandler[]): Promise<number> {
  const app = express();
  app.use(...middleware);
  app.get('/', (_request, response) => {
    response.send('hello');
  });
  const listener = app.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  closers.push(
    () => new Promise((resolve) => listener.close(resolve)),
    () => listener.closeAllConnections(),
  );
  closers.reverse();
  return (listener.address() as AddressInfo).port;
}

/** The same app three times; each says hello twice and then no more. */
const frameworks: Record<string, (limiter: RateLimiter | Quota) => Promise<number>> = {
  Express: (limiter) => serveExpress(expressRateLimit({ limiter, policyName: 'hello' })),
  Fastify: async (limiter) => {
    const app = Fastify({ forceCloseConnections: true });
    app.addHook('onRequest', fastifyRateLimit({ limiter, policyName: 'hello' }));
    app.get('/', async () => 'hello');
    await app.listen({ port: 0, host: '127.0.0.1' });
    closers.push(() => app.close());
    return (app.server.address() as AddressInfo).port;
  },
  Hono: async (limiter) => {
    const app = new Hono();
    app.use(
      honoRateLimit({ limiter, policyName: 'hello', key: (context) => context.req.header('x-user') ?? 'anonymous' }),
    );
    app.get('/', (context) => context.text('hello'));
    const listener = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' });
    await once(listener, 'listening');
    closers.push(() => listener.close());
    return (listener.address() as AddressInfo).port;
  },
};

describe.each(Object.entries(frameworks))('the middleware for %s', (_name, start) => {
  test('passes requests within the limit, refuses the rest, and says so in the headers', async () => {
    const port = await start(makeLimiter(2));
    const first = await get(port);
    expect([first.status, await first.text()]).toEqual([200, 'hello']);
    expect(first.headers.get('RateLimit-Policy')).toBe('"hello";q=2;w=3600');
    expect(first.headers.get('RateLimit')).toMatch(/^"hello";r=1;t=\d{1,4}$/);
    expect(first.headers.get('Retry-After')).toBeNull();
    expect((await get(port)).headers.get('RateLimit')).toMatch(/^"hello";r=0;t=\d+$/);
    const refused = await get(port);
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get('Retry-After'))).toBeGreaterThan(0);
    expect(refused.headers.get('RateLimit')).toMatch(/^"hello";r=0;t=\d+$/);
    expect(refused.headers.get('Content-Type')).toContain('application/problem+json');
    expect(await refused.json()).toMatchObject({ title: 'Too Many Requests', status: 429, policy: 'hello' });
  });

  test('a quota does as well as a rate limit', async () => {
    const name = `middleware-${++tests}`;
    await client.quotaDefine(name, { limit: 2, windowMs: HOUR_MS });
    const quota = new Quota({ client, name, whenAway: 'closed' });
    closers.push(() => quota.close());
    const port = await start(quota);
    const [first, second, third] = [await get(port), await get(port), await get(port)];
    expect([first.status, second.status, third.status]).toEqual([200, 200, 429]);
    expect(first.headers.get('RateLimit-Policy')).toBe('"hello";q=2;w=3600');
    expect(first.headers.get('RateLimit')).toMatch(/^"hello";r=1;t=\d{1,4}$/);
    expect(Number(third.headers.get('Retry-After'))).toBeGreaterThan(0);
  });

  test('while the server is away it does what the policy says', async () => {
    const port = await start(makeLimiter(2, true));
    const refused = await get(port);
    expect(refused.status).toBe(429);
    expect(((await refused.json()) as { detail: string }).detail).toContain('cannot be looked up');
  });
});

test('the key and the cost of a request can be chosen', async () => {
  const limiter = makeLimiter(10);
  const port = await serveExpress(
    expressRateLimit({
      limiter,
      key: async (request) => (request.get('x-user') === 'admin' ? undefined : request.get('x-user')),
      cost: (request) => Number(request.get('x-cost') ?? 1),
    }),
  );
  expect((await get(port, { 'x-user': 'a', 'x-cost': '10' })).status).toBe(200);
  expect((await get(port, { 'x-user': 'a' })).status).toBe(429);
  expect((await get(port, { 'x-user': 'b' })).status).toBe(200);
  const uncounted = await get(port, { 'x-user': 'admin', 'x-cost': '99' });
  expect([uncounted.status, uncounted.headers.get('RateLimit')]).toEqual([200, null]);
});

const ownAnswers: Record<string, (limiter: RateLimiter) => Promise<number>> = {
  Express: (limiter) =>
    serveExpress(
      expressRateLimit({
        limiter,
        onLimited: async (request, response, _next, { limit }) => {
          response.json({ path: request.path, limit });
        },
      }),
    ),
  Fastify: async (limiter) => {
    const app = Fastify({ forceCloseConnections: true });
    const onLimited = ({ url: path }: { url: string }, reply: FastifyReply, { limit }: LimitResult) =>
      reply.send({ path, limit });
    app.addHook('onRequest', fastifyRateLimit({ limiter, onLimited }));
    app.get('/', async () => 'hello');
    await app.listen({ port: 0, host: '127.0.0.1' });
    closers.push(() => app.close());
    return (app.server.address() as AddressInfo).port;
  },
  Hono: async (limiter) => {
    const app = new Hono();
    app.use(
      honoRateLimit({
        limiter,
        key: () => 'all',
        onLimited: (context, { limit }) => context.json({ path: context.req.path, limit }),
      }),
    );
    app.get('/', (context) => context.text('hello'));
    const listener = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' });
    await once(listener, 'listening');
    closers.push(() => listener.close());
    return (listener.address() as AddressInfo).port;
  },
};

test.each(Object.entries(ownAnswers))('with %s a service answers refused requests itself', async (_name, start) => {
  const port = await start(makeLimiter(1));
  expect((await get(port)).status).toBe(200);
  const refused = await get(port);
  expect([refused.status, await refused.json()]).toEqual([429, { path: '/', limit: 1 }]);
  expect(refused.headers.get('Content-Type')).toContain('application/json');
  expect(refused.headers.get('RateLimit')).toMatch(/^"default";r=0;t=\d+$/);
  expect(Number(refused.headers.get('Retry-After'))).toBeGreaterThan(0);
});

test('an answer that cannot be changed, and an error of the handler, reach the client', async () => {
  const hono = new Hono();
  const elsewhere = () => Response.redirect('http://127.0.0.1/slow-down', 303);
  hono.use(honoRateLimit({ limiter: makeLimiter(0), key: () => 'all', onLimited: elsewhere }));
  const redirected = await hono.request('/');
  expect([redirected.status, redirected.headers.get('location')]).toEqual([303, 'http://127.0.0.1/slow-down']);
  expect(redirected.headers.get('RateLimit')).toMatch(/^"default";r=0/);
  const port = await serveExpress(
    expressRateLimit({ limiter: makeLimiter(0), onLimited: () => Promise.reject(new Error('broken')) }),
    ((error, _request, response, _next) => {
      response.status(500).send(error.message);
    }) as express.ErrorRequestHandler as never,
  );
  const failed = await get(port);
  expect([failed.status, await failed.text()]).toEqual([500, 'broken']);
});

describe('the store for express-rate-limit', () => {
  test('counts for all processes together', async () => {
    const prefix = `express ${++tests}:`;
    const limiter = () => {
      const store = new ExpressRateLimitStore({ client, prefix });
      return rateLimit({ windowMs: HOUR_MS, limit: 3, standardHeaders: 'draft-8', legacyHeaders: false, store });
    };
    const [one, other] = [await serveExpress(limiter()), await serveExpress(limiter())];
    const statuses = [];
    for (const port of [one, other, one, other, one]) statuses.push((await get(port)).status);
    expect(statuses).toEqual([200, 200, 200, 429, 429]);
  });

  test('hits can be taken back and reset, and end a window after the first', async () => {
    const store = new ExpressRateLimitStore({ client, prefix: `express ${++tests}:` });
    store.init({ windowMs: 200 });
    expect((await store.increment('k')).totalHits).toBe(1);
    const { totalHits, resetTime } = await store.increment('k');
    expect(totalHits).toBe(2);
    expect(resetTime!.getTime() - Date.now()).toBeLessThanOrEqual(200);
    await store.decrement('k');
    expect((await store.get('k'))?.totalHits).toBe(1);
    await store.resetKey('k');
    expect(await store.get('k')).toBeUndefined();
    await store.decrement('k');
    expect(await store.get('k')).toBeUndefined();
    await store.increment('k');
    while ((await store.get('k')) !== undefined);
    expect((await store.increment('k')).totalHits).toBe(1);
  });

  test('skipFailedRequests takes back what failed', async () => {
    const store = new ExpressRateLimitStore({ client, prefix: `express ${++tests}:` });
    const port = await serveExpress(
      rateLimit({ windowMs: HOUR_MS, limit: 2, store, skipFailedRequests: true, keyGenerator: () => 'all' }),
      (request, response, next) => {
        if (request.get('x-fail') !== undefined) response.status(500).send('no');
        else next();
      },
    );
    for (let attempt = 0; attempt < 5; attempt++) {
      expect((await get(port, { 'x-fail': '1' })).status).toBe(500);
      while ((await store.get('all'))?.totalHits !== 0);
    }
    expect((await get(port)).status).toBe(200);
  });
});

describe('the store for @fastify/rate-limit', () => {
  test('counts for all processes together, and routes with their own limit apart', async () => {
    const store = fastifyRateLimitStore(client, `fastify ${++tests}:`);
    const start = async () => {
      const app = Fastify({ forceCloseConnections: true });
      await app.register(fastifyRateLimitPlugin, { max: 3, timeWindow: HOUR_MS, store: store as never });
      app.get('/', async () => 'hello');
      app.get('/own', { config: { rateLimit: { max: 1, timeWindow: HOUR_MS } } }, async () => 'own');
      closers.push(() => app.close());
      return app;
    };
    const [one, other] = [await start(), await start()];
    const statuses = [];
    for (const app of [one, other, one, other, one]) statuses.push((await app.inject('/')).statusCode);
    expect(statuses).toEqual([200, 200, 200, 429, 429]);
    expect((await one.inject('/own')).statusCode).toBe(200);
    const refused = await other.inject('/own');
    expect(refused.statusCode).toBe(429);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
  });

  test('a failing server is the plugin’s to judge', async () => {
    const gone = QuotadbClient.open({ port: server.port });
    await gone.close();
    const app = Fastify();
    const store = fastifyRateLimitStore(gone) as never;
    await app.register(fastifyRateLimitPlugin, { max: 3, store, skipOnError: true });
    app.get('/', async () => 'hello');
    expect((await app.inject('/')).statusCode).toBe(200);
    await app.close();
  });
});
