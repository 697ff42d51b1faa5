import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@quotadb/wire/testing';
import { afterEach, expect, test, vi } from 'vitest';
import { eventually, type TestClient, TestRegions } from '../testing/index.js';

/** Two processes, on a machine that may have other things to do. */
vi.setConfig({ testTimeout: 180_000, hookTimeout: 60_000 });

const NAMES = ['us/a', 'us/b'] as const;
/** A copy of them takes longer than a look at it. */
const KEYS = 200_000;
const KEYS_AT_ONCE = 1000;

let regions: TestRegions | undefined;
let directory: string | undefined;

afterEach(async () => {
  await regions?.close();
  if (directory !== undefined) await rm(directory, { recursive: true });
});

/** The slots of the member at this port, as another one shows them to clients; empty for none. */
async function slotsOf(asked: TestClient, port: number): Promise<string> {
  const nodes = await asked.call('CLUSTER', 'NODES');
  return new RegExp(`:${port}@.*connected ?(.*)$`, 'm').exec(nodes)?.[1]?.trim() ?? '';
}

test('a member that comes back empty gets clients when it has the keys of its group, and not before', async () => {
  directory = await mkdtemp(join(tmpdir(), 'quotadb-first-copy-'));
  const file = join(directory, 'map.json');
  const ports = { 'us/a': await freePort(), 'us/b': await freePort() };
  const members = NAMES.map((name) => ({
    ...{ region: 'us', member: name.slice(3), host: '127.0.0.1', port: ports[name] },
  }));
  await writeFile(file, JSON.stringify({ revision: 1, groups: { red: { slots: '0-16383', members } } }));
  const flags = (name: string) => [
    ...['--group', 'red', '--cluster-map', file, '--max-memory', '128mb'],
    ...['--resp', `${ports[name as keyof typeof ports]}`],
  ];
  const cluster = await TestRegions.make(NAMES);
  regions = cluster;
  await cluster.startAll(flags);
  await cluster.allConnected();
  const one = cluster.of('us/a').client;
  await eventually(async () => expect(await slotsOf(one, ports['us/b'])).toBe('8192-16383'));
  await cluster.kill('us/b');
  for (let at = 0; at < KEYS; at += KEYS_AT_ONCE) {
    const pairs = Array.from({ length: KEYS_AT_ONCE }, (_, index) => [`{n}:${at + index}`, at + index]);
    expect(await one.call('MSET', ...pairs.flat())).toBe('+OK\r\n');
  }
  await eventually(async () => expect(await slotsOf(one, ports['us/b'])).toBe(''));

  await cluster.start('us/b', flags('us/b'));
  const other = cluster.of('us/b').client;
  const heldWhenGiven: number[] = [];
  let looksWhileCopying = 0;
  for (const asked of [one, other])
    await eventually(async () => {
      const isGiven = (await slotsOf(asked, ports['us/b'])) !== '';
      // Asked after the slots: no less than it had then.
      const held = Number((await other.call('DBSIZE')).slice(1));
      if (isGiven) heldWhenGiven.push(held);
      else looksWhileCopying++;
      expect([isGiven, held]).toEqual([true, KEYS]);
    });
  expect(looksWhileCopying).toBeGreaterThan(0);
  expect(new Set(heldWhenGiven)).toEqual(new Set([KEYS]));
  expect(await other.call('GET', '{n}:7')).toBe('$1\r\n7\r\n');
});
