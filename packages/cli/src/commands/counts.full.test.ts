import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { EmbeddedPostgres } from '@quotadb/counts';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';

const PROGRAM = fileURLToPath(new URL('../../bin/quotadb.js', import.meta.url));

const postgres = new EmbeddedPostgres({});
let url: string;
beforeAll(async () => {
  const { host, user } = await postgres.start();
  url = `postgresql://${user}@/postgres?host=${encodeURIComponent(host!)}`;
});
afterAll(() => postgres.stop());

const running: ChildProcess[] = [];
afterEach(async () => {
  for (const child of running.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }
});

interface Started {
  readonly child: ChildProcess;
  readonly output: () => string;
  readonly errors: () => string;
}

/** `quotadb counts` as a process, with nothing of this environment that is meant for a server. */
function start(flags: readonly string[], environment: Readonly<Record<string, string>> = {}): Started {
  const env = { PATH: process.env.PATH, ...environment };
  const child = spawn(process.execPath, [PROGRAM, 'counts', ...flags], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  running.push(child);
  let output = '';
  let errors = '';
  child.stdout!.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  child.stderr!.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  return { child, output: () => output, errors: () => errors };
}

async function readyLine({ child, output, errors }: Started): Promise<{ http: number; internalHttp?: number }> {
  while (!output().includes('\n')) {
    if (child.exitCode !== null) throw new Error(errors());
    await Promise.race([once(child.stdout!, 'data'), once(child, 'exit')]);
  }
  return JSON.parse(output());
}

async function exitCode({ child }: Started): Promise<number | null> {
  return child.exitCode ?? ((await once(child, 'close')) as [number | null])[0];
}

const COUNTS = '/api/v1/internal/counts';
async function call(port: number, method: string, path: string, token?: string, body?: object): Promise<Response> {
  return fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    headers: { 'content-type': 'application/json', ...(token !== undefined && { authorization: `Bearer ${token}` }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
}

test('the counts API runs alone: HTTP and a database, no Redis clients, no other regions', async () => {
  const server = start(['--http', '0', '--counts-token', 'counting', '--counts-internal-token', 'managing'], {
    QUOTADB_POSTGRES: url,
    // For a whole server; these mean nothing here.
    QUOTADB_PASSWORD: 'secret',
    QUOTADB_PEER: 'eu=example.com:7380',
  });
  const line = await readyLine(server);
  expect(Object.keys(line)).toEqual(['ready', 'http', 'pid']);
  const { http } = line;
  expect((await call(http, 'POST', COUNTS, 'managing', { itemId: 'visits', initialValue: 41 })).status).toBe(201);
  const increased = await call(http, 'POST', '/api/v1/counts/visits/increase', 'counting');
  expect(await increased.json()).toEqual({ itemId: 'visits', value: 42 });
  expect((await call(http, 'POST', '/api/v1/counts/visits/increase')).status).toBe(401);
  expect((await call(http, 'GET', `${COUNTS}/visits`, 'counting')).status).toBe(403);
  for (const path of ['/healthz', '/readyz', '/api/v1/counts/docs']) {
    expect([path, (await call(http, 'GET', path)).status]).toEqual([path, 200]);
  }
  expect((await call(http, 'GET', '/metrics')).status).toBe(401);
  expect(await (await call(http, 'GET', '/metrics', 'managing')).text()).toContain('quotadb_counts_up 1');
  for (const path of ['/api/v1/quotas', '/api/v1/windows/x?windowMs=1000', '/dashboard']) {
    expect([path, (await call(http, 'GET', path, 'managing')).status]).toEqual([path, 404]);
  }
  server.child.kill('SIGTERM');
  expect(await exitCode(server)).toBe(0);
});

test('the internal part can have a port of its own', async () => {
  const { http, internalHttp } = await readyLine(start(['--http', '0', '--internal-http', '0', '--postgres', url]));
  expect((await call(http, 'GET', `${COUNTS}?itemIds=visits`)).status).toBe(404);
  expect((await call(internalHttp!, 'GET', `${COUNTS}?itemIds=visits`)).status).toBe(200);
});

test.each([
  [['--resp', '0'], /unknown option '--resp'/],
  [['--host', '0.0.0.0'], /give a --counts-token and a --counts-internal-token/],
  [['--counts-token', 'one', '--counts-internal-token', 'one'], /must differ/],
])('%j is refused before anything starts', async (flags, words) => {
  const server = start(flags);
  expect(await exitCode(server)).toBe(2);
  expect(server.errors()).toMatch(words);
});

test('a table of another program ends the start with what is in the way', async () => {
  const client = new pg.Client(url);
  await client.connect();
  await client.query('CREATE DATABASE taken');
  await client.end();
  const taken = url.replace('/postgres?', '/taken?');
  const own = new pg.Client(taken);
  await own.connect();
  await own.query('CREATE TABLE count_values (item_id uuid PRIMARY KEY, current_value integer)');
  await own.end();
  const server = start(['--http', '0', '--postgres', taken]);
  expect(await exitCode(server)).toBe(1);
  expect(server.errors()).toContain('count_values that QuotaDB did not make (item_id uuid, current_value integer;');
  expect(server.errors()).toContain('--counts-adopt');
});

test('a database that is away is waited for, and /readyz says so', async () => {
  const { http } = await readyLine(start(['--http', '0', '--postgres', 'postgresql://nobody@127.0.0.1:1/none']));
  expect((await call(http, 'GET', '/readyz')).status).toBe(503);
  expect((await call(http, 'GET', '/healthz')).status).toBe(200);
});
