import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@quotadb/wire/testing';
import { Cluster } from 'ioredis';
import { afterEach, expect, test, vi } from 'vitest';
import { eventually, TestRegions } from '../testing/index.js';

/** Four processes, on a machine that may have other things to do. */
vi.setConfig({ testTimeout: 180_000, hookTimeout: 60_000 });

const GROUPS = { red: '0-8191', blue: '8192-16383' } as const;
const MEMBERS = ['us/a', 'us/b'] as const;
const KEYS = 40;
/** Acknowledged between two kills. */
const SOME = 500;

const groups = new Map<string, TestRegions>();
const ports = new Map<string, number>();
let directory: string | undefined;
let client: Cluster | undefined;

afterEach(async () => {
  client?.disconnect();
  for (const group of groups.values()) await group.close();
  groups.clear();
  if (directory !== undefined) await rm(directory, { recursive: true });
});

function flagsOf(group: string, name: string): string[] {
  const data = join(directory as string, `${group}-${name.replace('/', '-')}`);
  return [
    ...['--group', group, '--cluster-map', join(directory as string, 'map.json'), '--data', data, '--fsync', 'always'],
    ...['--resp', `${ports.get(`${group} ${name}`)}`],
  ];
}

async function startGroups(): Promise<void> {
  directory = await mkdtemp(join(tmpdir(), 'quotadb-member-groups-'));
  for (const group of Object.keys(GROUPS)) for (const name of MEMBERS) ports.set(`${group} ${name}`, await freePort());
  const described = Object.entries(GROUPS).map(([group, slots]) => [
    group,
    {
      slots,
      members: MEMBERS.map((name) => ({
        ...{ region: 'us', member: name.slice(3), host: '127.0.0.1', port: ports.get(`${group} ${name}`) },
      })),
    },
  ]);
  await writeFile(join(directory, 'map.json'), JSON.stringify({ revision: 1, groups: Object.fromEntries(described) }));
  // A group starts when the others say which slots they have, so all of them start together.
  await Promise.all(
    Object.keys(GROUPS).map(async (group) => {
      groups.set(group, await TestRegions.make(MEMBERS));
      await groups.get(group)?.startAll((name) => flagsOf(group, name));
    }),
  );
  for (const group of groups.values()) await group.allConnected();
}

const keyOf = (index: number) => `n:${index}`;

test('two groups of two members: a cluster client goes on through kill -9 of any of them, and every count is there once', async () => {
  await startGroups();
  client = new Cluster(
    [...ports.values()].map((port) => ({ host: '127.0.0.1', port })),
    // The client repeats nothing automatically: an increment that was counted before the kill would be counted again.
    { clusterRetryStrategy: () => 50, maxRedirections: 0, slotsRefreshInterval: 500 },
  );
  client.on('error', () => {});
  const attempted = new Array<number>(KEYS).fill(0);
  const acknowledged = new Array<number>(KEYS).fill(0);
  let isOver = false;
  const total = () => acknowledged.reduce((sum, count) => sum + count, 0);
  const running = attempted.map(async (_, index) => {
    while (!isOver) {
      attempted[index]++;
      try {
        await client?.incr(keyOf(index));
        acknowledged[index]++;
      } catch {
        // Not known whether it was counted.
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
  });
  await eventually(async () => expect(total()).toBeGreaterThan(SOME));
  for (const [group, regions] of groups)
    for (const name of MEMBERS) {
      await regions.kill(name);
      const before = [...acknowledged];
      // Every key goes on, those of the killed member too.
      await eventually(async () => {
        for (const [index, count] of acknowledged.entries()) expect(count, keyOf(index)).toBeGreaterThan(before[index]);
      });
      await regions.start(name, flagsOf(group, name));
      await regions.allConnected();
    }
  isOver = true;
  await Promise.all(running);
  for (const [index, count] of acknowledged.entries()) {
    const found = Number(await client.get(keyOf(index)));
    expect(found, keyOf(index)).toBeGreaterThanOrEqual(count);
    expect(found, keyOf(index)).toBeLessThanOrEqual(attempted[index]);
  }
  const sizes: number[] = [];
  for (const regions of groups.values()) {
    const [one, other] = await Promise.all(MEMBERS.map((name) => regions.call(name, 'DBSIZE')));
    expect(one).toBe(other);
    sizes.push(Number(one.slice(1)));
  }
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(KEYS);
});
