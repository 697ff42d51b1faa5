import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { slotOfText } from '@quotadb/cluster';
import { EnvoyClient, type RateLimitReply } from '@quotadb/envoy/testing';
import { eventually } from '@quotadb/resp/testing';
import { afterEach, expect, test } from 'vitest';
import { TestCluster, TWO_GROUPS } from '../testing/index.js';

// A window of a year or a sliding one does not end in the middle of a test.
const YAML = `
domain: d
descriptors:
  - { key: fixed, rate_limit: { unit: year, requests_per_unit: 3 } }
  - { key: sliding, sliding: true, rate_limit: { unit: day, requests_per_unit: 3 } }
  - { key: exact, exact: true, rate_limit: { unit: year, requests_per_unit: 3 } }
  - { key: shared, exact: true, rate_limit: { unit: year, requests_per_unit: 100 } }
`;
const GROUPS = ['a', 'b'] as const;
type GroupName = (typeof GROUPS)[number];

const opened: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
});

interface Started {
  readonly cluster: TestCluster;
  readonly clients: Readonly<Record<GroupName, EnvoyClient>>;
  /** Writes the file of a group. */
  write(group: GroupName, yaml: string): Promise<void>;
}

/** Two groups of one server, each with a disk; the named ones serve Envoy. */
async function start(serving: readonly GroupName[] = GROUPS): Promise<Started> {
  const directory = await mkdtemp(join(tmpdir(), 'quotadb-envoy-groups-'));
  opened.push(() => rm(directory, { recursive: true }));
  const cluster = await TestCluster.prepare(...GROUPS);
  opened.push(() => cluster.remove());
  await cluster.give(cluster.map(1, TWO_GROUPS), ...GROUPS);
  const folders = { a: await mkdtemp(join(directory, 'a-')), b: await mkdtemp(join(directory, 'b-')) };
  const write = (group: GroupName, yaml: string) => writeFile(join(folders[group], 'limits.yaml'), yaml);
  const clients: Partial<Record<GroupName, EnvoyClient>> = {};
  for (const group of GROUPS) {
    await write(group, YAML);
    const envoy = { rlsPort: 0, envoyDirectory: folders[group] };
    const dataDirectory = join(directory, `data-${group}`);
    const { server } = await cluster.start(group, { dataDirectory, ...(serving.includes(group) && envoy) });
    if (!serving.includes(group)) continue;
    const client = new EnvoyClient(server.state.identity.rlsPort as number);
    opened.push(() => client.close());
    clients[group] = client;
  }
  for (const group of GROUPS)
    await eventually(async () =>
      expect(await (await cluster.client(group)).call('QUOTA.LIST')).toContain('envoy:d.exact:year'),
    );
  return { cluster, clients: clients as Started['clients'], write };
}

/** Values whose counters of this key are of the group. */
function valuesOf(key: string, group: GroupName, count = 1): string[] {
  const isOf = (value: string) => slotOfText(`d_${key}_${value}_`) < 8192 === (group === 'a');
  return Array.from({ length: 100 }, (_, at) => `v${at}`)
    .filter(isOf)
    .slice(0, count);
}

function codesOf({ statuses }: RateLimitReply): string[] {
  return statuses.map(({ code }) => code);
}

test.each(['fixed', 'sliding', 'exact'])(
  'a limit of kind %s holds over all groups, whichever node is asked and whichever group has its counter',
  async (kind) => {
    const { clients } = await start();
    for (const owner of GROUPS) {
      const [value] = valuesOf(kind, owner) as [string];
      const codes: string[] = [];
      for (const group of ['a', 'b', 'a', 'b', 'a'] as const)
        codes.push((await clients[group].ask('d', [[kind, value]])).overallCode);
      expect([owner, ...codes]).toEqual([owner, 'OK', 'OK', 'OK', 'OVER_LIMIT', 'OVER_LIMIT']);
    }
  },
);

test('a request that is denied in one group is charged for its exact and sliding limits in none', async () => {
  const { clients } = await start();
  const [here, there] = [valuesOf('sliding', 'a')[0] as string, valuesOf('exact', 'b')[0] as string];
  const both = () => clients.a.ask('d', [['sliding', here]], [['exact', there]]);
  expect((await clients.b.ask('d', [['exact', there]])).overallCode).toBe('OK');
  expect(codesOf(await both())).toEqual(['OK', 'OK']);
  expect(codesOf(await both())).toEqual(['OK', 'OK']);
  for (let time = 0; time < 3; time++) expect(codesOf(await both())).toEqual(['OK', 'OVER_LIMIT']);
  expect((await clients.b.ask('d', [['sliding', here]])).overallCode).toBe('OK');
  expect((await clients.b.ask('d', [['sliding', here]])).overallCode).toBe('OVER_LIMIT');
  // A fixed window of the other group denies as well.
  const [fixed] = valuesOf('fixed', 'b') as [string];
  const [exact] = valuesOf('exact', 'a') as [string];
  const three = () => clients.a.ask('d', [['fixed', fixed]], [['exact', exact]]);
  for (let time = 0; time < 2; time++) expect(codesOf(await three())).toEqual(['OK', 'OK']);
  expect((await clients.b.ask('d', [['fixed', fixed]])).overallCode).toBe('OK');
  expect(codesOf(await three())).toEqual(['OVER_LIMIT', 'OK']);
  expect(codesOf(await clients.b.ask('d', [['exact', exact]]))).toEqual(['OK']);
  expect(codesOf(await clients.b.ask('d', [['exact', exact]]))).toEqual(['OVER_LIMIT']);
});

test('a group that does not serve Envoy has its exact limits all the same, as they change and go', async () => {
  const { cluster, clients, write } = await start(['a']);
  const [value] = valuesOf('exact', 'b') as [string];
  const ask = async () => (await clients.a.ask('d', [['exact', value]])).overallCode;
  for (const code of ['OK', 'OK', 'OK', 'OVER_LIMIT']) expect(await ask()).toBe(code);
  await write('a', YAML.replaceAll('requests_per_unit: 3', 'requests_per_unit: 5'));
  await eventually(async () => expect(await ask()).toBe('OK'));
  expect(await ask()).toBe('OK');
  expect(await ask()).toBe('OVER_LIMIT');
  await write('a', YAML.replace(/.*key: exact.*\n/, ''));
  const other = await cluster.client('b');
  await eventually(async () => expect(await other.call('QUOTA.LIST')).not.toContain('envoy:d.exact:year'));
  expect(await other.call('QUOTA.LIST')).toContain('envoy:d.shared:year');
});

test.each(GROUPS)(
  'a proxy is given shares of an exact limit of the group %s, and returns what it did not use',
  async (owner) => {
    const { cluster, clients } = await start();
    const [value] = valuesOf('shared', owner) as [string];
    const asking = await cluster.client('b');
    const left = async () => {
      const info = await asking.call('QUOTA.INFO', 'envoy:d.shared:year', `d_shared_${value}_`);
      return Number(/remaining-everywhere\r\n:(\d+)/.exec(info)?.[1]);
    };
    const { call, replies } = clients.a.reports();
    const report = (allowed: number) => ({
      domain: 'd',
      bucketQuotaUsages: {
        1: { bucketId: { bucket: { shared: value } }, timeElapsed: { seconds: 1 }, numRequestsAllowed: allowed },
      },
    });
    call.write(report(0));
    await eventually(() => expect(replies).toHaveLength(1));
    expect(JSON.stringify(replies[0])).toContain('"maxTokens":10');
    await eventually(async () => expect(await left()).toBe(90));
    // Nearly all is used: the next share comes with this report.
    call.write(report(9));
    await eventually(() => expect(replies).toHaveLength(2));
    expect(await left()).toBeLessThan(90);
    // All but the 9 that were used comes back, and little is given out again: nothing is asked for any more.
    await eventually(async () => {
      call.write(report(0));
      expect(await left()).toBeGreaterThan(80);
    });
    expect(await left()).toBeLessThanOrEqual(100 - 9);
    call.end();
  },
);

test('where the group of a counter is away, no decision is made, and the reason is said', async () => {
  const { cluster, clients } = await start();
  await cluster.stop('b');
  const [here, there] = [valuesOf('fixed', 'a')[0] as string, valuesOf('fixed', 'b')[0] as string];
  await expect(clients.a.ask('d', [['fixed', there]])).rejects.toThrow(/14 UNAVAILABLE: .*the group b/);
  await expect(clients.a.ask('d', [['exact', valuesOf('exact', 'b')[0] as string]])).rejects.toThrow(/UNAVAILABLE/);
  expect((await clients.a.ask('d', [['fixed', here]])).overallCode).toBe('OK');
});

test('what groups do for each other is served to nobody over HTTP', async () => {
  const { cluster } = await start();
  const url = `http://127.0.0.1:${cluster.servers.get('a')?.httpPort}`;
  const post = { method: 'POST', headers: { 'content-type': 'application/json' } };
  const body = JSON.stringify({ counter: 'd_fixed_v_', windowMs: 1000, amount: 1 });
  expect((await fetch(`${url}/envoy/count`, { ...post, body })).status).toBe(404);
  expect((await fetch(`${url}/envoy/decide`, { ...post, body })).status).toBe(404);
});
