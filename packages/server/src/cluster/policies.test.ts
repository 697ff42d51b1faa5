import { hashPassword } from '@quotadb/config';
import { afterEach, expect, test } from 'vitest';
import { startTwoGroups, TestClient, TestCluster, TWO_GROUPS } from '../testing/index.js';

// Slots: b 3300 is of group a; foo 12182 of group b.
let cluster: TestCluster;

afterEach(async () => {
  await cluster?.remove();
});

async function call(member: string, ...words: (string | number)[]): Promise<string> {
  const client = await TestClient.open(cluster.portOf(member));
  const reply = await client.call(...words);
  client.close();
  return reply;
}

async function put(member: string, path: string, body: object): Promise<readonly [number, object]> {
  const response = await fetch(`http://127.0.0.1:${cluster.servers.get(member)?.httpPort}${path}`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return [response.status, (await response.json()) as object];
}

const texts = (reply: string) => [...reply.matchAll(/\$\d+\r\n(.*)\r\n/g)].map(([, text]) => text);
const quotasOf = async (member: string) => texts(await call(member, 'QUOTA.LIST')).sort();
const limitsOf = async (member: string) => texts(await call(member, 'LIMIT.LIST'));
const limitOf = async (member: string, quota: string) =>
  /\$5\r\nlimit\r\n:(\d+)/.exec(await call(member, 'QUOTA.INFO', quota))?.[1];

async function stateOf(member: string, group: string): Promise<string | undefined> {
  const text = (await cluster.servers.get(member)?.server.metrics.render()) ?? '';
  const [, state] =
    new RegExp(`^quotadb_cluster_policies\\{group="${group}",state="(\\w+)"\\} 1$`, 'm').exec(text) ?? [];
  return state;
}

test('a change of policies or limits at any node of any group holds in all groups when it is answered', async () => {
  cluster = await startTwoGroups();
  expect(await call('b', 'QUOTA.DEFINE', 'calls', 'LIMIT', 100, 'WINDOW', '1h')).toBe('+OK\r\n');
  expect(await call('a', 'QUOTA.DEFINE', 'jobs', 'LIMIT', 5, 'LEASE', '1m')).toBe('+OK\r\n');
  for (const member of ['a', 'b']) expect(await quotasOf(member)).toEqual(['calls', 'jobs']);
  for (const subject of ['b', 'foo'])
    expect(await call('a', 'QUOTA.TAKE', 'calls', subject, 1)).toMatch(/^\*\d+\r\n:1\r\n/);
  expect(await put('a', '/api/v1/quotas/calls', { limit: 50, windowMs: '1h' })).toEqual([200, { defined: true }]);
  expect([await limitOf('a', 'calls'), await limitOf('b', 'calls')]).toEqual(['50', '50']);
  expect(await call('a', 'QUOTA.DEFINE', 'calls', 'LIMIT', 50, 'WINDOW', '2h')).toMatch(/^-ERR the window of a policy/);
  expect(await call('b', 'QUOTA.DROP', 'calls')).toBe(':1\r\n');
  expect(await call('b', 'QUOTA.DROP', 'calls')).toBe(':0\r\n');

  const api = { name: 'api', kind: 'fixed', limit: 10, window: '1h' };
  expect(await call('b', 'LIMIT.LOAD', JSON.stringify({ limits: [api] }))).toBe('+OK\r\n');
  expect((await put('a', '/api/v1/limits/named/more', { ...api, name: 'more' }))[0]).toBe(200);
  expect(await call('a', 'LIMIT.DROP', 'api')).toBe(':1\r\n');
  for (const member of ['a', 'b']) {
    expect(await quotasOf(member)).toEqual(['jobs']);
    expect(await limitsOf(member)).toEqual(['more']);
  }
  expect(await call('a', 'LIMIT.SET', JSON.stringify({ ...api, parent: 'nobody' }))).toMatch(/^-ERR .*nobody/);
});

test('a group that was away takes over the newest of every policy when it is back', async () => {
  cluster = await TestCluster.prepare('a', 'b');
  await cluster.give(cluster.map(1, TWO_GROUPS), 'a', 'b');
  const disk = { dataDirectory: cluster.fileOf('data') };
  await Promise.all([cluster.start('a'), cluster.start('b', disk)]);
  await call('a', 'QUOTA.DEFINE', 'calls', 'LIMIT', 100, 'WINDOW', '1h');
  await call('a', 'QUOTA.DEFINE', 'old', 'LIMIT', 1, 'WINDOW', '1h');
  await call('a', 'QUOTA.DEFINE', 'gone', 'LIMIT', 1, 'WINDOW', '1h');
  await cluster.stop('b');
  const partial = await call('a', 'QUOTA.DEFINE', 'calls', 'LIMIT', 200, 'WINDOW', '1h');
  expect(partial).toMatch(/^-ERR the change holds in 1 of 2 groups; missing: b \(.*takes it over when it is back/);
  expect(await put('a', '/api/v1/quotas/more', { limit: 1, windowMs: '1h' })).toMatchObject([
    503,
    { code: 'groups_missing' },
  ]);
  await call('a', 'QUOTA.DROP', 'gone');
  await call('a', 'QUOTA.DROP', 'old');
  await call('a', 'QUOTA.DEFINE', 'old', 'LIMIT', 7, 'WINDOW', '2h');
  await call('a', 'LIMIT.LOAD', JSON.stringify({ limits: [{ name: 'api', kind: 'fixed', limit: 10, window: '1h' }] }));
  await expect.poll(() => stateOf('a', 'b'), { timeout: 20_000 }).toBe('unreachable');

  await cluster.start('b', disk);
  await expect.poll(() => limitsOf('b'), { timeout: 20_000 }).toEqual(['api']);
  expect(await quotasOf('b')).toEqual(['calls', 'more', 'old']);
  expect([await limitOf('b', 'calls'), await limitOf('b', 'old')]).toEqual(['200', '7']);

  await cluster.stop('a');
  await call('b', 'QUOTA.DEFINE', 'own', 'LIMIT', 9, 'WINDOW', '1h');
  // It was in memory, and knows nothing but a setting, which is older than any change by a client.
  const quotas = [{ name: 'calls', limit: 3, windowMs: 3_600_000, allocator: undefined, shares: [], waitMs: 1000 }];
  await cluster.start('a', { quotas });
  await expect.poll(() => quotasOf('a'), { timeout: 20_000 }).toEqual(['calls', 'more', 'old', 'own']);
  await expect.poll(() => stateOf('a', 'b'), { timeout: 20_000 }).toBe('same');
  for (const member of ['a', 'b']) expect(await limitOf(member, 'calls')).toBe('200');
});

test('a policy that another group cannot have is named in the answer, and the groups are said to differ', async () => {
  cluster = await TestCluster.prepare('a', 'b');
  await cluster.give(cluster.map(1, TWO_GROUPS), 'a', 'b');
  const directory = cluster.fileOf('data');
  await Promise.all([cluster.start('a', { dataDirectory: directory }), cluster.start('b')]);
  // A quota without a window needs a disk, which only one of the two has.
  expect(await call('a', 'QUOTA.DEFINE', 'life', 'LIMIT', 3, 'WINDOW', 'NONE')).toMatch(
    /^-ERR the change holds in 1 of 2 groups; missing: b \(refused: life: .*needs a disk/,
  );
  await expect.poll(() => stateOf('a', 'b'), { timeout: 20_000 }).toBe('different');
  expect(await call('a', 'QUOTA.DROP', 'life')).toBe(':1\r\n');
  await expect.poll(() => stateOf('a', 'b'), { timeout: 20_000 }).toBe('same');
});

test('only administrators may send policies', async () => {
  const web = { name: 'web', roles: ['write', 'read', 'quota'] as const, prefixes: [], tokens: [] };
  const passwords = [await hashPassword(Buffer.from('web'))];
  const users = new Map([['web', { ...web, passwords }]]);
  cluster = await startTwoGroups({ users, clusterUser: 'web', clusterPassword: 'web' });
  const client = await TestClient.open(cluster.portOf('a'));
  expect(await client.call('AUTH', 'web', 'web')).toBe('+OK\r\n');
  expect(await client.call('CLUSTER', 'POLICIES', '', '{"policies":[]}')).toMatch(/^-NOPERM/);
  client.close();
});

test('nonsense in place of policies is refused', async () => {
  cluster = await startTwoGroups();
  expect(await call('a', 'CLUSTER', 'POLICIES', '', '{"policies":[{"name":"x"}]}')).toMatch(
    /^-ERR these are no policies/,
  );
  expect(await call('a', 'CLUSTER', 'POLICIES', '', 'x')).toMatch(/^-ERR these are no policies/);
  const ahead = { policies: [{ name: 'x', stamp: Date.now() + 2 * 86_400_000, definition: null }] };
  expect(await call('a', 'CLUSTER', 'POLICIES', '', JSON.stringify(ahead))).toMatch(/more than a day ahead/);
  const broken = { policies: [{ name: 'x', stamp: 2, definition: { name: 'x', limit: -1 } }] };
  expect(await call('a', 'CLUSTER', 'POLICIES', '', JSON.stringify(broken))).toContain('"refused":["x: a limit is');
  expect(await quotasOf('a')).toEqual([]);
});
