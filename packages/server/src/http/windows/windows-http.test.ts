import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Role } from '@quotadb/config';
import { hashToken } from '@quotadb/config';
import { Validator } from '@seriousme/openapi-schema-validator';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  describeWithEpoll,
  ManualClock,
  spawnServer,
  startTestServer,
  TestClient,
  type TestServer,
} from '../../testing/index.js';

const MINUTE_MS = 60_000;
const clock = new ManualClock();

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({}, clock);
});
afterAll(() => server.stop());

async function call(method: string, path: string, body?: unknown, port = server.httpPort, token?: string) {
  const response = await fetch(`http://127.0.0.1:${port}/api/v1/${path}`, {
    method,
    headers: {
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every form.
  return { status: response.status, type: response.headers.get('content-type'), json: (await response.json()) as any };
}

function currentStart(): number {
  return Math.floor(clock.now() / MINUTE_MS) * MINUTE_MS;
}

describe('the windows API', () => {
  test('counts in the window that the server is in, and reads it', async () => {
    const window = { startMs: currentStart(), endMs: currentStart() + MINUTE_MS };
    expect((await call('POST', 'windows/page/increment', { windowMs: MINUTE_MS })).json).toEqual({
      key: 'page',
      count: 1,
      ...window,
    });
    expect((await call('POST', 'windows/page/increment', { windowMs: MINUTE_MS, amount: 41 })).json.count).toBe(42);
    expect((await call('GET', `windows/page?windowMs=${MINUTE_MS}`)).json).toEqual({
      key: 'page',
      count: 42,
      ...window,
    });
    expect((await call('GET', `windows/none?windowMs=${MINUTE_MS}`)).json).toEqual({
      key: 'none',
      count: 0,
      ...window,
    });
  });

  test('counts where WINDOW.INCRBY counts, whatever the key is', async () => {
    const key = 'käse/ß 100%';
    await call('POST', `windows/${encodeURIComponent(key)}/increment`, { windowMs: MINUTE_MS, amount: 5 });
    const client = await TestClient.open(server.port);
    client.socket.setDefaultEncoding('utf8');
    client.socket.write(
      `*4\r\n$13\r\nWINDOW.INCRBY\r\n$${Buffer.byteLength(key)}\r\n${key}\r\n$5\r\n60000\r\n$1\r\n2\r\n`,
    );
    expect(await client.reply()).toMatch(/^\*3\r\n:7\r\n/);
    client.close();
    expect((await call('GET', `windows/${encodeURIComponent(key)}?windowMs=60000`)).json).toMatchObject({
      key,
      count: 7,
    });
  });

  test('takes the window that a caller names', async () => {
    const startMs = currentStart() + 7;
    const named = await call('POST', 'windows/named/increment', { windowMs: 1000_000, startMs, amount: 3 });
    expect(named.json).toEqual({ key: 'named', count: 3, startMs, endMs: startMs + 1000_000 });
    expect((await call('GET', `windows/named?windowMs=1000000&startMs=${startMs}`)).json.count).toBe(3);
    expect((await call('GET', 'windows/named?windowMs=1000000')).json.count).toBe(0);
  });

  test('limits where RATE.LIMIT limits; who is denied burns nothing', async () => {
    const rate = { limit: 10, windowMs: MINUTE_MS };
    const decision = { key: 'rate', limit: 10, resetMs: currentStart() + MINUTE_MS - clock.now() };
    expect((await call('POST', 'limits/rate/take', { ...rate, cost: 7 })).json).toEqual({
      ...decision,
      allowed: true,
      remaining: 3,
      retryAfterMs: 0,
    });
    const denied = await call('POST', 'limits/rate/take', { ...rate, cost: 4 });
    expect(denied.status).toBe(200);
    expect(denied.json).toMatchObject({ allowed: false, remaining: 3 });
    expect(denied.json.retryAfterMs).toBeGreaterThan(0);
    expect((await call('GET', `limits/rate?limit=10&windowMs=${MINUTE_MS}&cost=3`)).json.allowed).toBe(true);
    const client = await TestClient.open(server.port);
    expect(await client.call('RATE.LIMIT', 'rate', 10, MINUTE_MS, 3)).toMatch(/^\*5\r\n:1\r\n:10\r\n:0\r\n/);
    client.close();
    expect((await call('POST', 'limits/rate/add', { ...rate, cost: 5 })).json).toMatchObject({
      allowed: false,
      remaining: 0,
    });
    expect((await call('GET', `limits/rate?limit=20&windowMs=${MINUTE_MS}`)).json.remaining).toBe(5);
  });

  test('loses no digit', async () => {
    const body = `{"windowMs":${MINUTE_MS},"amount":9223372036854775807}`;
    expect((await call('POST', 'windows/big/increment', body)).json.count).toBe('9223372036854775807');
    expect((await call('POST', 'windows/big/increment', { windowMs: MINUTE_MS })).json.code).toBe('count_out_of_range');
    expect((await call('GET', `windows/big?windowMs=${MINUTE_MS}`)).json.count).toBe('9223372036854775807');
  });

  test.each([
    ['malformed_json', 400, 'POST', 'windows/k/increment', '{'],
    ['invalid_window', 400, 'POST', 'windows/k/increment', {}],
    ['invalid_window', 400, 'POST', 'windows/k/increment', undefined],
    ['invalid_window', 400, 'POST', 'windows/k/increment', { windowMs: 0 }],
    ['invalid_window', 400, 'POST', 'windows/k/increment', { windowMs: 1.5 }],
    ['invalid_window', 400, 'POST', 'windows/k/increment', { windowMs: 2 ** 47 }],
    ['invalid_window', 400, 'GET', 'windows/k', undefined],
    ['invalid_window', 400, 'GET', 'windows/k?windowMs=1e3', undefined],
    ['invalid_start', 400, 'POST', 'windows/k/increment', { windowMs: 1, startMs: -1 }],
    ['invalid_start', 400, 'GET', 'windows/k?windowMs=1&startMs=x', undefined],
    ['invalid_amount', 400, 'POST', 'windows/k/increment', { windowMs: 1, amount: -1 }],
    ['invalid_amount', 400, 'POST', 'windows/k/increment', { windowMs: 1, amount: '9223372036854775808' }],
    ['unknown_field', 400, 'POST', 'windows/k/increment', { windowMs: 1, by: 2 }],
    ['unknown_parameter', 400, 'GET', 'windows/k?windowMs=1&by=2', undefined],
    ['unknown_parameter', 400, 'POST', 'windows/k/increment?windowMs=1', { windowMs: 1 }],
    ['invalid_key', 400, 'GET', 'windows/%E0%A4%A?windowMs=1', undefined],
    ['window_over', 409, 'POST', 'windows/k/increment', { windowMs: 1, startMs: 0 }],
    ['invalid_limit', 400, 'POST', 'limits/k/take', { windowMs: 1000 }],
    ['invalid_limit', 400, 'POST', 'limits/k/take', { limit: -1, windowMs: 1000 }],
    ['invalid_limit', 400, 'GET', 'limits/k?windowMs=1000', undefined],
    ['invalid_window', 400, 'POST', 'limits/k/take', { limit: 1 }],
    ['invalid_cost', 400, 'POST', 'limits/k/add', { limit: 1, windowMs: 1, cost: 1.5 }],
    ['unknown_parameter', 400, 'GET', 'limits/k?limit=1&windowMs=1&startMs=1', undefined],
    ['method_not_allowed', 405, 'GET', 'limits/k/take', undefined],
    ['route_not_found', 404, 'POST', 'windows/k/take', { limit: 1, windowMs: 1 }],
    ['route_not_found', 404, 'POST', 'limits/k/constructor', undefined],
    ['route_not_found', 404, 'GET', 'windows', undefined],
    ['route_not_found', 404, 'POST', 'windows/k/reset', undefined],
    ['method_not_allowed', 405, 'GET', 'windows/k/increment', undefined],
    ['method_not_allowed', 405, 'DELETE', 'windows/k', undefined],
  ])('%s (%i): %s %s %j', async (code, status, method, path, body) => {
    const answer = await call(method, path, body);
    expect(answer.json).toMatchObject({ type: `urn:quotadb:problem:${code}`, status, code });
    expect(answer.status).toBe(status);
    expect(answer.type).toBe('application/problem+json');
  });

  test('is described by a valid OpenAPI document', async () => {
    const { json } = await call('GET', 'openapi/windows.json');
    expect(await new Validator().validate(json)).toEqual({ valid: true });
    expect(Object.keys(json.paths)).toEqual([
      '/api/v1/windows/{key}/increment',
      '/api/v1/windows/{key}',
      '/api/v1/limits/{key}/take',
      '/api/v1/limits/{key}/add',
      '/api/v1/limits/{key}',
    ]);
  });

  test('wants the token that counting wants', async () => {
    const guarded = await startTestServer({ countsTokens: ['counting'], countsInternalTokens: ['managing'] });
    const path = `windows/k?windowMs=${MINUTE_MS}`;
    expect((await call('GET', path, undefined, guarded.httpPort)).json.code).toBe('unauthenticated');
    expect((await call('GET', path, undefined, guarded.httpPort, 'managing')).json.code).toBe('wrong_role');
    expect((await call('GET', path, undefined, guarded.httpPort, 'counting')).json.count).toBe(0);
    await guarded.stop();
  });

  test('is for those who may use the commands, on the keys that they may touch', async () => {
    const user = (name: string, roles: Role[], token: string, prefixes: string[] = []) =>
      [name, { name, roles, prefixes, passwords: [], tokens: [hashToken(token)] }] as const;
    const guarded = await startTestServer({
      users: new Map([
        user('web', ['read', 'write'], 'web-token', ['cart:']),
        user('reader', ['read'], 'reader-token'),
        user('gate', ['quota'], 'gate-token'),
      ]),
    });
    const count = (key: string, token?: string) =>
      call('POST', `windows/${key}/increment`, { windowMs: MINUTE_MS }, guarded.httpPort, token);
    const peek = (key: string, token?: string) =>
      call('GET', `limits/${key}?limit=5&windowMs=${MINUTE_MS}`, undefined, guarded.httpPort, token);
    expect((await count('cart:1', 'web-token')).json.count).toBe(1);
    expect((await count('other', 'web-token')).json).toMatchObject({ code: 'key_forbidden', status: 403 });
    expect((await peek('other', 'web-token')).json.code).toBe('key_forbidden');
    expect((await peek('other', 'reader-token')).json.allowed).toBe(true);
    expect((await count('other', 'reader-token')).json.code).toBe('wrong_role');
    expect((await count('other', 'gate-token')).json.code).toBe('wrong_role');
    const take = { limit: 10, windowMs: MINUTE_MS };
    const taken = await call('POST', 'limits/k/take', take, guarded.httpPort, 'gate-token');
    expect(taken.json).toMatchObject({ allowed: true, remaining: 9 });
    expect((await count('other')).json.code).toBe('unauthenticated');
    expect((await count('other', 'nobodys')).json.code).toBe('unauthenticated');
    await guarded.stop();
  });

  test('asks for the password of a server that has one, also on loopback', async () => {
    const guarded = await startTestServer({ password: 'secret' });
    const path = `windows/k?windowMs=${MINUTE_MS}`;
    expect((await call('GET', path, undefined, guarded.httpPort)).json.code).toBe('unauthenticated');
    const authorization = `Basic ${Buffer.from('default:secret').toString('base64')}`;
    const answer = await fetch(`http://127.0.0.1:${guarded.httpPort}/api/v1/${path}`, { headers: { authorization } });
    expect(answer.status).toBe(200);
    await guarded.stop();
  });

  test('a limit says at which part of it counts are published to other regions', async () => {
    const rate = { limit: 10, windowMs: MINUTE_MS, publishPercent: 50 };
    expect((await call('POST', 'limits/published/take', rate)).json).toMatchObject({ allowed: true, remaining: 9 });
    const tooMuch = await call('POST', 'limits/published/take', { ...rate, publishPercent: 101 });
    expect(tooMuch.status).toBe(400);
  });

  test('without memory a new count is refused with 507', async () => {
    const small = await startTestServer({ maxMemoryBytes: 4 * 1024 * 1024 });
    const client = await TestClient.open(small.port);
    for (let key = 0; (await client.call('INCR', `${'k'.repeat(60_000)}${key}`)) === ':1\r\n'; key++);
    client.close();
    const increment = (key: number) =>
      call('POST', `windows/${'k'.repeat(10_000)}${key}/increment`, { windowMs: MINUTE_MS }, small.httpPort);
    let refused = await increment(0);
    for (let key = 1; refused.status === 200; key++) refused = await increment(key);
    expect(refused.json).toMatchObject({ code: 'out_of_memory', status: 507 });
    await small.stop();
  });
});

async function countsAcrossRestart(transport: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'quotadb-windows-'));
  const flags = ['--transport', transport, '--max-memory', '16mb', '--data', join(folder, 'data'), '--fsync', 'always'];
  try {
    const first = spawnServer(flags);
    const { http } = await first.ready();
    const windowMs = 3_600_000_000;
    for (let count = 1; count <= 3; count++) {
      expect((await call('POST', 'windows/kept/increment', { windowMs }, http)).json.count).toBe(count);
    }
    first.child.kill('SIGKILL');
    await first.finished;
    const second = spawnServer(flags);
    const ready = await second.ready();
    expect((await call('GET', `windows/kept?windowMs=${windowMs}`, undefined, ready.http)).json.count).toBe(3);
    await second.stop();
  } finally {
    await rm(folder, { recursive: true });
  }
}

test('with --fsync always an answer is on disk before it leaves: net', () => countsAcrossRestart('net'));
describeWithEpoll('over HTTP beside epoll lanes', () => {
  test('with --fsync always an answer is on disk before it leaves: epoll', () => countsAcrossRestart('epoll'));
});
