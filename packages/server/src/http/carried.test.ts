import { type Configuration, hashPassword, hashToken } from '@quotadb/config';
import { afterEach, describe, expect, test } from 'vitest';
import { startTwoGroups, TestClient, type TestCluster } from '../testing/index.js';

// Slots: b 3300 and c 7365 are of group a; a 15495 and foo 12182 of group b.
let cluster: TestCluster;

afterEach(async () => {
  await cluster?.remove();
});

type Body = Readonly<Record<string, unknown>>;

async function ask(
  group: string,
  method: string,
  path: string,
  body?: Body,
  headers: Readonly<Record<string, string>> = {},
): Promise<readonly [number, Body]> {
  const response = await fetch(`http://127.0.0.1:${cluster.servers.get(group)?.httpPort}${path}`, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    ...(body && { body: JSON.stringify(body) }),
  });
  expect(response.headers.get('content-type')).toBe(response.ok ? 'application/json' : 'application/problem+json');
  return [response.status, (await response.json()) as Body];
}

async function call(group: string, ...words: (string | number)[]): Promise<string> {
  const client = await TestClient.open(cluster.portOf(group));
  const reply = await client.call(...words);
  client.close();
  return reply;
}

async function carriedTo(group: string): Promise<number> {
  const text = (await cluster.servers.get(group)?.server.metrics.render()) ?? '';
  return Number(/^quotadb_cluster_forwarded_total (\d+)$/m.exec(text)?.[1]);
}

describe('over HTTP a key or subject of another group is served by its owner', () => {
  test('counters, windows and rate limits', async () => {
    cluster = await startTwoGroups();
    await call('b', 'SET', 'foo', 7);
    const readings = [await ask('a', 'GET', '/api/v1/keys/foo'), await ask('b', 'GET', '/api/v1/keys/foo')];
    expect(readings[0]).toEqual([200, { key: 'foo', value: '7', regions: {} }]);
    expect(readings[0]).toEqual(readings[1]);
    expect(await ask('a', 'GET', '/api/v1/keys/foobar?maxAgeMs=x')).toMatchObject([400, { code: 'bad_max_age' }]);
    expect(await ask('a', 'GET', '/api/v1/keys/%7Bfoo%7Dnone')).toMatchObject([
      404,
      { code: 'no_such_key', key: '{foo}none' },
    ]);

    const window = { windowMs: 3_600_000, startMs: 3_600_000 * 500_000, amount: '9007199254740993' };
    const counted = await ask('a', 'POST', '/api/v1/windows/foo/increment', window);
    expect(counted).toEqual([200, { key: 'foo', count: '9007199254740993', startMs: 18e11, endMs: 18e11 + 36e5 }]);
    expect(await ask('b', 'GET', '/api/v1/windows/foo?windowMs=3600000&startMs=1800000000000')).toEqual(counted);

    const rate = { limit: 2, windowMs: 8_640_000_000 };
    for (const [group, allowed] of [
      ['a', true],
      ['b', true],
      ['a', false],
    ] as const)
      expect(await ask(group, 'POST', '/api/v1/limits/foo/take', rate)).toMatchObject([200, { allowed }]);
    expect(await ask('a', 'POST', '/api/v1/limits/foo/add', rate)).toMatchObject([200, { allowed: false }]);
    expect(await ask('a', 'GET', '/api/v1/limits/foo?limit=4&windowMs=8640000000')).toMatchObject([
      200,
      { allowed: true, remaining: 1 },
    ]);
    expect(await carriedTo('a')).toBe(7);
    expect(await carriedTo('b')).toBe(0);
  });

  test('quotas, with reservations and leases that any node settles', async () => {
    cluster = await startTwoGroups();
    for (const group of ['a', 'b']) {
      await call(group, 'QUOTA.DEFINE', 'calls', 'LIMIT', 100, 'WINDOW', '300d');
      await call(group, 'QUOTA.DEFINE', 'jobs', 'LIMIT', 3, 'LEASE', '1m');
    }
    expect(await ask('a', 'POST', '/api/v1/quotas/calls/take', { subject: 'foo', cost: 10 })).toMatchObject([
      200,
      { allowed: true, remainingEverywhere: 90 },
    ]);
    expect(await ask('b', 'GET', '/api/v1/quotas/calls?subject=foo')).toMatchObject([200, { remainingEverywhere: 90 }]);
    for (const group of ['a', 'b'])
      expect(await call(group, 'QUOTA.INFO', 'calls', 'foo')).toContain('remaining-everywhere\r\n:90\r\n');
    expect(await call('a', 'QUOTA.INFO', 'calls')).toMatch(/^\*\d+\r\n\$4\r\nname\r\n\$5\r\ncalls\r\n/);
    for (const subject of ['foo', 'b']) {
      const [, reserved] = await ask('a', 'POST', '/api/v1/quotas/calls/reserve', {
        subject,
        estimate: 5,
        ttlMs: 60_000,
      });
      const reservation = `/api/v1/quotas/reservations/${encodeURIComponent(String(reserved.reservation))}`;
      expect(await ask('b', 'POST', `${reservation}/commit`, { actual: 4 })).toEqual([
        200,
        { charged: 4, uncharged: 0 },
      ]);
      expect(await ask('a', 'DELETE', reservation)).toEqual([200, { cancelled: false }]);
      const [, leased] = await ask('b', 'POST', '/api/v1/quotas/jobs/acquire', { subject, ttlMs: 60_000 });
      const lease = `/api/v1/quotas/leases/${encodeURIComponent(String(leased.lease))}`;
      expect(await ask('a', 'POST', `${lease}/renew`, { ttlMs: 50_000 })).toMatchObject([200, { renewed: true }]);
      expect(await call('a', 'QUOTA.RELEASE', String(leased.lease))).toBe(':1\r\n');
      expect(await ask('b', 'DELETE', lease)).toEqual([200, { released: false }]);
    }
    const both = (one: string, other: string) => ({
      items: [one, other].map((subject) => ({ name: 'calls', subject, cost: 1 })),
    });
    const takeAll = '/api/v1/quotas/take-all';
    expect(await ask('a', 'POST', takeAll, both('{foo}1', '{foo}2'))).toMatchObject([200, { allowed: true }]);
    expect(await ask('a', 'POST', takeAll, both('b', 'c'))).toMatchObject([200, { allowed: true }]);
    expect(await ask('a', 'POST', takeAll, both('b', 'foo'))).toMatchObject([400, { code: 'keys_apart' }]);
    expect(await ask('a', 'POST', '/api/v1/quotas/none/take', { subject: 'foo' })).toMatchObject([
      404,
      { code: 'no_such_quota' },
    ]);
  });

  test('limits of the catalogue, and what operators do for a subject', async () => {
    cluster = await startTwoGroups();
    const catalogue = { limits: [{ name: 'api', kind: 'exact', limit: 10, window: '300d' }] };
    for (const group of ['a', 'b']) await call(group, 'LIMIT.LOAD', JSON.stringify(catalogue));
    const subject = '/api/v1/limits/named/api/subjects/foo';
    const check = { name: 'api', subject: 'foo', cost: 4 };
    expect(await ask('a', 'POST', '/api/v1/limits/check', check)).toMatchObject([200, { remaining: 6 }]);
    expect(await ask('a', 'POST', '/api/v1/limits/check', { ...check, peek: true })).toMatchObject([
      200,
      { remaining: 6 },
    ]);
    expect(await ask('a', 'POST', `${subject}/refund`, { amount: 3 })).toEqual([200, { refunded: 3 }]);
    expect(await ask('a', 'POST', `${subject}/extra`, { amount: 5 })).toEqual([200, { limit: 15 }]);
    expect(await ask('a', 'GET', subject)).toMatchObject([200, { limit: 15, remaining: 14 }]);
    expect(await ask('a', 'POST', `${subject}/reset`)).toMatchObject([200, { refunded: 1 }]);
    expect(await ask('b', 'GET', subject)).toMatchObject([200, { remaining: 15 }]);
  });
});

test('the first node checks who the caller is, and the owner whether the user of the cluster may', async () => {
  const base = { prefixes: [], passwords: [], tokens: [] };
  const users: Configuration['users'] = new Map([
    ['node', { ...base, name: 'node', roles: ['write'], passwords: [await hashPassword(Buffer.from('secret'))] }],
    ['web', { ...base, name: 'web', roles: ['write', 'read'], prefixes: ['fo'], tokens: [hashToken('web')] }],
  ]);
  cluster = await startTwoGroups({ users, clusterUser: 'node', clusterPassword: 'secret' });
  const web = { authorization: 'Bearer web' };
  const increment = (key: string, headers = {}) =>
    ask('a', 'POST', `/api/v1/windows/${key}/increment`, { windowMs: 3_600_000 }, headers);
  expect(await increment('foo')).toMatchObject([401, { code: 'unauthenticated' }]);
  expect(await increment('a', web)).toMatchObject([403, { code: 'key_forbidden' }]);
  await expect.poll(async () => (await increment('foo', web))[0]).toBe(200);
  expect(await ask('a', 'GET', '/api/v1/windows/foo?windowMs=3600000', undefined, web)).toMatchObject([
    403,
    { code: 'wrong_role' },
  ]);
  const client = await TestClient.open(cluster.portOf('b'));
  expect(await client.call('CLUSTER', 'OPERATION', 'GET', '/api/v1/keys/foo', '')).toMatch(/^-NOAUTH/);
  await client.call('AUTH', 'node', 'secret');
  const reply = await client.call('CLUSTER', 'OPERATION', 'PUT', '/api/v1/quotas/calls', '{"limit":1,"windowMs":1}');
  expect(reply).toContain('"status":40');
  client.close();
});

test('where the owner is away the answer says that nothing was done', async () => {
  cluster = await startTwoGroups();
  await cluster.stop('b');
  expect(await ask('a', 'POST', '/api/v1/windows/foo/increment', { windowMs: 1000 })).toMatchObject([
    503,
    { code: 'group_unreachable', detail: expect.stringContaining('the group b') },
  ]);
  expect((await ask('a', 'POST', '/api/v1/windows/b/increment', { windowMs: 1000 }))[0]).toBe(200);
});

test('where nothing is carried, a key of another group is refused with the group that has it', async () => {
  cluster = await startTwoGroups({ clusterForward: 'no' });
  const detail = 'it is in the slot 12182, which the group b owns: ask a node of that group';
  const elsewhere = [421, { code: 'key_elsewhere', detail }];
  expect(await ask('a', 'GET', '/api/v1/keys/foo')).toMatchObject(elsewhere);
  expect(await ask('a', 'POST', '/api/v1/windows/foo/increment', { windowMs: 1000 })).toMatchObject(elsewhere);
  expect(await ask('a', 'POST', '/api/v1/quotas/calls/take', { subject: 'foo', cost: 1 })).toMatchObject(elsewhere);
  expect(await ask('a', 'POST', '/api/v1/limits/check', { name: 'api', subject: 'foo' })).toMatchObject(elsewhere);
});
