import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EmbeddedPostgres } from '@quotadb/counts';
import { afterEach, expect, test } from 'vitest';
import { parseExposition } from '../testing/exposition.js';
import { eventually, type SpawnedServer, spawnServer, TestClient, TestRegions } from '../testing/index.js';

interface CountsReadyLine {
  readonly resp: number;
  readonly http: number;
  readonly internalHttp?: number;
}

/** A database and three regions take their time to start on a busy machine. */
const MANY_PROCESSES_TIMEOUT_MS = 90_000;

const servers: SpawnedServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop();
});

async function start(...flags: string[]): Promise<CountsReadyLine & { readonly server: SpawnedServer }> {
  const server = spawnServer(['--transport', 'net', '--max-memory', '16mb', ...flags]);
  servers.push(server);
  return { ...((await server.ready()) as CountsReadyLine), server };
}

/** On a busy machine the database of a server may start for longer than a request waits: nothing was changed then. */
async function call(port: number, method: string, path: string, body?: object, token?: string) {
  for (const untilMs = Date.now() + 30_000; ; ) {
    const answer = await callOnce(port, method, path, body, token);
    if (answer.json?.code !== 'database_unavailable' || Date.now() > untilMs) return answer;
  }
}

async function callOnce(port: number, method: string, path: string, body?: object, token?: string) {
  const response = await fetch(`http://127.0.0.1:${port}/api/v1/${path}`, {
    method,
    headers: { 'content-type': 'application/json', ...(token !== undefined && { authorization: `Bearer ${token}` }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, json: text === '' ? undefined : JSON.parse(text) };
}

test('quotadb serve has the counts API beside its health, with a database of its own', async () => {
  const { http, server } = await start();
  expect((await call(http, 'POST', 'internal/counts', { itemId: 'visits', initialValue: 41 })).status).toBe(201);
  expect((await call(http, 'POST', 'counts/visits/increase')).json).toEqual({ itemId: 'visits', value: 42 });
  expect((await call(http, 'GET', 'internal/counts?itemIds=visits')).json).toMatchObject([{ currentValue: 42 }]);
  expect((await fetch(`http://127.0.0.1:${http}/healthz`)).status).toBe(200);
  expect((await fetch(`http://127.0.0.1:${http}/api/v1/counts/docs`)).status).toBe(200);
  const { code, signal } = await server.stop();
  expect({ code, signal }).toEqual({ code: 0, signal: null });
});

test('a thousand counts can be read at once, in the address or in the body, and refusals are problems', async () => {
  const { http } = await start();
  await call(http, 'POST', 'internal/counts', { itemId: 'visits', initialValue: 1 });
  await call(http, 'POST', 'internal/counts', { itemId: 'query', initialValue: 2 });
  const itemIds = [...Array.from({ length: 999 }, () => randomUUID()), 'visits'];
  const address = `internal/counts?${itemIds.map((itemId) => `itemIds=${itemId}`).join('&')}`;
  expect(await call(http, 'GET', address)).toMatchObject({ status: 200, json: [{ currentValue: 1 }] });
  const long = itemIds.map((itemId) => itemId.padEnd(255, 'é'));
  const body = { itemIds: [...long.slice(1), 'visits'] };
  expect(await call(http, 'POST', 'internal/counts/query', body)).toMatchObject({
    status: 200,
    json: [{ currentValue: 1 }],
  });
  // The name is no longer free for POST alone; a count may still have it.
  expect((await call(http, 'GET', 'internal/counts/query')).json).toMatchObject({ itemId: 'query', currentValue: 2 });
  const problem = (status: number, code: string) => ({ status, json: { code, status, title: expect.any(String) } });
  expect(await call(http, 'GET', `${address}${'&itemIds=x'.repeat(3_000)}`)).toMatchObject(
    problem(431, 'headers_too_large'),
  );
  const tooMany = { itemIds: [...itemIds, 'one more'] };
  expect(await call(http, 'POST', 'internal/counts/query', tooMany)).toMatchObject(problem(400, 'too_many_item_ids'));
  const tooLarge = { itemIds: ['x'.repeat(2_000_000)] };
  expect(await call(http, 'POST', 'internal/counts/query', tooLarge)).toMatchObject(problem(413, 'body_too_large'));
});

test('/metrics has figures of the database once counts are used', async () => {
  const { http } = await start();
  const scrape = async () => parseExposition(await (await fetch(`http://127.0.0.1:${http}/metrics`)).text());
  expect((await scrape()).has('quotadb_counts_up')).toBe(false);
  await call(http, 'POST', 'internal/counts', { itemId: 'visits', initialValue: 0 });
  for (let change = 0; change < 5; change++) await call(http, 'POST', 'counts/visits/increase');
  const metrics = await scrape();
  const value = (name: string) => metrics.get(name)?.samples[0].value;
  expect(value('quotadb_counts_up')).toBe(1);
  expect(value('quotadb_counts_changes_total')).toBe(5);
  expect(value('quotadb_counts_waiting')).toBe(0);
  expect(value('quotadb_counts_change_seconds_total')).toBeGreaterThan(0);
  expect(metrics.get('quotadb_counts_statement_duration_seconds')?.samples.at(-1)?.value).toBe(5);
});

test('--data keeps the database of the counts beside the counters: both are there after a restart', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'quotadb-counts-'));
  try {
    const first = await start('--data', join(folder, 'data'));
    await call(first.http, 'POST', 'internal/counts', { itemId: 'kept', initialValue: 7 });
    expect((await first.server.stop()).code).toBe(0);
    const second = await start('--data', join(folder, 'data'));
    expect((await call(second.http, 'POST', 'counts/kept/increase')).json).toEqual({ itemId: 'kept', value: 8 });
    expect((await second.server.stop()).code).toBe(0);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('--postgres: two servers on one database count together', async () => {
  const postgres = new EmbeddedPostgres({});
  const { host, user, database } = await postgres.start();
  try {
    const url = `postgresql://${user}@${encodeURIComponent(host!)}/${database}`;
    const [one, other] = await Promise.all([start('--postgres', url), start('--postgres', url)]);
    await call(one.http, 'POST', 'internal/counts', { itemId: 'shared' });
    await Promise.all(
      Array.from({ length: 100 }, (_, index) => call([one, other][index % 2]!.http, 'POST', 'counts/shared/increase')),
    );
    expect((await call(other.http, 'GET', 'internal/counts/shared')).json.currentValue).toBe(100);
    for (const server of servers.splice(0)) expect((await server.stop()).code).toBe(0);
  } finally {
    await postgres.stop();
  }
});

test('--internal-http takes the internal part off the other port, and tokens keep the parts apart', async () => {
  const { http, internalHttp } = await start(
    ...['--internal-http', '0', '--counts-token', 'counting', '--counts-internal-token', 'managing'],
  );
  const created = await call(internalHttp!, 'POST', 'internal/counts', { itemId: 'split' }, 'managing');
  expect(created.status).toBe(201);
  expect((await call(http, 'POST', 'counts/split/increase', undefined, 'counting')).json.value).toBe(1);
  expect((await call(http, 'GET', 'internal/counts/split', undefined, 'managing')).json.code).toBe('route_not_found');
  expect((await call(internalHttp!, 'GET', 'internal/counts/split', undefined, 'counting')).json.code).toBe(
    'wrong_role',
  );
  expect((await call(http, 'POST', 'counts/split/increase')).json.code).toBe('unauthenticated');
});

test('--feed: two servers that count the same key over RESP come to one exact record, also after a stop', async () => {
  const postgres = new EmbeddedPostgres({});
  const { host, user, database } = await postgres.start();
  try {
    const url = `postgresql://${user}@${encodeURIComponent(host!)}/${database}`;
    const flags = ['--postgres', url, '--feed', 'visits=page:visits,idle', '--feed-interval', '20'];
    const regions = await Promise.all([start(...flags), start(...flags)]);
    await call(regions[0]!.http, 'POST', 'internal/counts', { itemId: 'visits' });
    for (const { resp } of regions) {
      const client = await TestClient.open(resp);
      for (let round = 0; round < 100; round++) await client.call('INCRBY', 'page:visits', round);
      client.close();
    }
    const [stopped, other] = regions;
    expect((await stopped!.server.stop()).code).toBe(0);
    await eventually(async () => {
      expect((await call(other!.http, 'GET', 'internal/counts/visits')).json.currentValue).toBe(9_900);
    });
    expect((await other!.server.stop()).code).toBe(0);
  } finally {
    await postgres.stop();
  }
});

test(
  '--feed: regions that replicate, of which two feed one count, come to the exact total of all, also of one that died',
  async () => {
    const postgres = new EmbeddedPostgres({});
    const { host, user, database } = await postgres.start();
    const regions = await TestRegions.make(['us', 'eu', 'ap']);
    try {
      const url = `postgresql://${user}@${encodeURIComponent(host!)}/${database}`;
      const feeding = ['--postgres', url, '--feed', 'global=sales', '--feed-interval', '20'];
      await regions.startAll((name) => (name === 'ap' ? [] : feeding));
      await regions.allConnected();
      const { http } = regions.of('us').ready;
      await call(http, 'POST', 'internal/counts', { itemId: 'global' });
      const recorded = (value: number) =>
        eventually(async () => {
          expect((await call(http, 'GET', 'internal/counts/global')).json.currentValue).toBe(value);
        });
      for (let round = 0; round < 30; round++) {
        for (const [index, name] of regions.names.entries()) await regions.call(name, 'INCRBY', 'sales', 10 ** index);
      }
      await regions.agreeOn('sales', 3_330);
      await recorded(3_330);
      await regions.kill('ap');
      await regions.call('eu', 'DECRBY', 'sales', 30);
      await recorded(3_300);
      // In memory it comes back as another incarnation, and the counts of the former one stay counted.
      await regions.start('ap');
      await regions.call('ap', 'INCRBY', 'sales', 7);
      await regions.agreeOn('sales', 3_307);
      await recorded(3_307);
      await regions.call('us', 'DEL', 'sales');
      await regions.agreeOn('sales', 0);
      await regions.call('ap', 'INCR', 'sales');
      await recorded(3_308);
    } finally {
      await regions.close();
      await postgres.stop();
    }
  },
  MANY_PROCESSES_TIMEOUT_MS,
);

test('--feed: what the record holds of a server, the server holds after a crash, whatever --fsync says', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'quotadb-counts-'));
  const postgres = new EmbeddedPostgres({});
  const { host, user, database } = await postgres.start();
  try {
    const url = `postgresql://${user}@${encodeURIComponent(host!)}/${database}`;
    const flags = ['--postgres', url, '--feed', 'kept', '--feed-interval', '20', '--fsync', 'never'];
    const first = await start('--data', join(folder, 'data'), ...flags);
    await call(first.http, 'POST', 'internal/counts', { itemId: 'kept' });
    const before = await TestClient.open(first.resp);
    for (let value = 1; value <= 50; value++) {
      await before.call('INCR', 'kept');
      if (value % 10 !== 0) continue;
      await eventually(async () => {
        expect((await call(first.http, 'GET', 'internal/counts/kept')).json.currentValue).toBe(value);
      });
    }
    first.server.child.kill('SIGKILL');
    await first.server.finished;
    before.close();
    const second = await start('--data', join(folder, 'data'), ...flags);
    const after = await TestClient.open(second.resp);
    expect(await after.call('INCR', 'kept')).toContain('51');
    after.close();
    await eventually(async () => {
      expect((await call(second.http, 'GET', 'internal/counts/kept')).json.currentValue).toBe(51);
    });
    expect((await second.server.stop()).code).toBe(0);
  } finally {
    await postgres.stop();
    await rm(folder, { recursive: true });
  }
});

test.each(['0.0.0.0', '127.0.0.1'])('with a password on %s, the counts API without tokens is closed', async (host) => {
  const { http, server } = await start('--host', host, '--password', 'secret');
  expect((await call(http, 'POST', 'counts/any/increase')).json.code).toBe('unauthenticated');
  expect((await call(http, 'GET', 'internal/counts/any')).json.code).toBe('unauthenticated');
  expect((await fetch(`http://127.0.0.1:${http}/healthz`)).status).toBe(200);
  expect((await server.stop()).stderr).toContain('the counts API is closed');
});
