import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type MapDocument, nodeIdOf, slotOfText } from '@quotadb/cluster';
import { EtcdMapStore } from '@quotadb/cluster/etcd';
import { describeWithEtcd, EtcdServers, freePort } from '@quotadb/wire/testing';
import { Cluster } from 'ioredis';
import { afterEach, expect, test, vi } from 'vitest';
import { SpawnedServer, TestClient } from '../testing/index.js';

/** Processes, on a machine that may have other things to do. */
vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 });
const PATIENT = { timeout: 30_000, interval: 50 };

const GROUPS = { red: '0-8191', blue: '8192-16383' } as const;
type GroupName = keyof typeof GROUPS;
const KEYS = Array.from({ length: 20 }, (_, at) => `n:${at}`);

let etcd: EtcdServers;
let store: EtcdMapStore;
let directory: string;
let client: Cluster | undefined;
const ports = new Map<GroupName, number>();
const servers = new Map<GroupName, SpawnedServer>();
const logs = new Map<GroupName, string>();

afterEach(async () => {
  client?.disconnect();
  client = undefined;
  await Promise.all([...servers.values()].map((server) => server.stop()));
  servers.clear();
  logs.clear();
  await store.stop();
  await etcd.remove();
  await rm(directory, { recursive: true });
});

async function prepare(): Promise<void> {
  directory = await mkdtemp(join(tmpdir(), 'quotadb-in-etcd-'));
  etcd = await EtcdServers.start();
  store = new EtcdMapStore({ urls: etcd.urls, prefix: '/quotadb', leaseSeconds: 10 });
  for (const group of ['red', 'blue'] as const) ports.set(group, await freePort());
}

function documentOf(revision: number, slots: Readonly<Record<GroupName, string>> = GROUPS): MapDocument {
  const members = (group: GroupName) => [{ region: 'eu', host: '127.0.0.1', port: ports.get(group) as number }];
  return {
    revision,
    groups: {
      red: { slots: slots.red, members: members('red') },
      blue: { slots: slots.blue, members: members('blue') },
    },
  };
}

function spawnGroup(group: GroupName): SpawnedServer {
  const server = new SpawnedServer([
    ...['serve', '--region', 'eu', '--group', group, '--etcd', etcd.urls.join(), '--etcd-lease', '2s'],
    ...['--resp', String(ports.get(group)), '--http', '0', '--repl', '-1', '--data', join(directory, group)],
    ...['--log-format', 'json'],
  ]);
  servers.set(group, server);
  logs.set(group, '');
  server.child.stderr?.on('data', (chunk) => logs.set(group, `${logs.get(group)}${chunk}`));
  return server;
}

async function stopGroup(group: GroupName): Promise<number | null | undefined> {
  const server = servers.get(group);
  servers.delete(group);
  return (await server?.stop())?.code;
}

const idOf = (group: GroupName) => nodeIdOf({ group, region: 'eu', name: '' });

async function metricsOf(group: GroupName): Promise<string> {
  const { http } = (await servers.get(group)?.ready()) ?? { http: 0 };
  return (await fetch(`http://127.0.0.1:${http}/metrics`)).text();
}

describeWithEtcd('two groups with their map in etcd', () => {
  test('wait for the first map, count while etcd is away, start without it, and take a new map when it is back', async () => {
    await prepare();
    // There is no map yet: the log says what to run, and a signal ends the wait.
    spawnGroup('red');
    await expect
      .poll(() => logs.get('red'), PATIENT)
      .toMatch(/there is no cluster map in etcd: .*quotadb cluster init/);
    expect(await stopGroup('red')).toBe(0);
    spawnGroup('red');
    spawnGroup('blue');
    expect(await store.replace(undefined, documentOf(1))).toBe(true);
    await Promise.all([...servers.values()].map((server) => server.ready()));
    const inStep = (revision: number) => new Map([...ports.keys()].map((group) => [idOf(group), { revision }]));
    await expect.poll(() => store.members(), PATIENT).toEqual(inStep(1));

    client = new Cluster([{ host: '127.0.0.1', port: ports.get('red') as number }], { slotsRefreshInterval: 500 });
    client.on('error', () => {});
    const countAll = () => Promise.all(KEYS.map((key) => client?.incr(key)));
    expect(await countAll()).toEqual(KEYS.map(() => 1));

    await etcd.kill();
    await expect.poll(() => metricsOf('blue'), PATIENT).toContain('quotadb_cluster_etcd_reachable 0');
    await expect.poll(() => logs.get('blue'), PATIENT).toContain('etcd is away');
    expect(await countAll()).toEqual(KEYS.map(() => 2));
    // A server that starts now has the map that it had before.
    expect(await stopGroup('red')).toBe(0);
    await spawnGroup('red').ready();
    await expect.poll(() => logs.get('red'), PATIENT).toContain('the start takes the map of revision 1 from');
    await vi.waitFor(async () => expect(await client?.get(KEYS[0])).toBe('2'), PATIENT);
    expect(await countAll()).toEqual(KEYS.map(() => 3));

    await etcd.startAgain();
    // A slot that nothing is in changes hands, under a map that comes into force everywhere.
    const before = await vi.waitFor(() => store.read(), PATIENT);
    const slots = { red: '0-8190', blue: '8191-16383' };
    expect(await store.replace(before, documentOf(2, slots))).toBe(true);
    await expect.poll(() => store.members(), PATIENT).toEqual(inStep(2));
    await expect.poll(() => metricsOf('red'), PATIENT).toContain('quotadb_cluster_etcd_reachable 1');
    expect(await metricsOf('red')).toContain('quotadb_cluster_map_revision 2');
    const plain = await TestClient.open(ports.get('red') as number);
    expect(await plain.call('CLUSTER', 'NODES')).toContain(' connected 8191-16383');
    plain.close();
    expect(await countAll()).toEqual(KEYS.map(() => 4));
  });

  test('a server starts though marks of tokens are left in slots that have gone to another group', async () => {
    await prepare();
    await store.replace(undefined, documentOf(1));
    const take = ['QUOTA.TAKE', 'calls', '{n:0}', '1'] as const;
    for (const group of ['red', 'blue'] as const) await spawnGroup(group).ready();
    const owner = slotOfText('n:0') < 8192 ? 'red' : 'blue';
    await callOf(owner, 'QUOTA.DEFINE', 'calls', 'LIMIT', '10', 'WINDOW', '1d');
    expect(await callOf(owner, ...take)).toMatch(/^\*5\r\n:1\r\n/);
    for (const group of ['red', 'blue'] as const) expect(await stopGroup(group)).toBe(0);
    // As after a move.
    const before = await store.read();
    const slots = owner === 'red' ? { red: '16383', blue: '0-16382' } : { red: '0-16382', blue: '16383' };
    expect(await store.replace(before, documentOf(2, slots))).toBe(true);
    await spawnGroup(owner).ready();
    expect(await callOf(owner, 'PING')).toBe('+PONG\r\n');
  });
});

async function callOf(group: GroupName, ...words: readonly string[]) {
  const plain = await TestClient.open(ports.get(group) as number);
  try {
    return await plain.call(...words);
  } finally {
    plain.close();
  }
}
