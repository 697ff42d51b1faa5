import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { eventually, spawnServer, TestClient, TestRegions } from '../testing/index.js';
import { startLoad } from '../testing/member-load.js';

/** Several processes each, on a machine that may have other things to do. */
vi.setConfig({ testTimeout: 180_000, hookTimeout: 60_000 });

const CLIENTS = 6;
/** Acknowledged before and after a kill. */
const SOME = 300;
const NAMES = ['us/a', 'us/b', 'eu'];
/** Long enough for the answers of all, however busy the machine is: with those, a take is denied at once. */
const LONG_WAIT_MS = 5000;

let cluster: TestRegions;
let directory: string | undefined;
afterEach(async () => {
  await cluster.close();
  if (directory !== undefined) await rm(directory, { recursive: true });
  directory = undefined;
});

const portsOf = (...names: string[]) => names.map((name) => cluster.of(name).ready.resp);

test('two members of a region count together, and a second server under the name of one is refused', async () => {
  cluster = await TestRegions.start(NAMES);
  await cluster.allConnected();
  await cluster.call('us/a', 'INCRBY', 'n', 1);
  await cluster.call('us/b', 'INCRBY', 'n', 10);
  await cluster.call('eu', 'INCRBY', 'n', 100);
  await cluster.agreeOn('n', 111);
  const info = await cluster.call('us/b', 'INFO', 'server');
  expect(info).toContain('quotadb_region:us\r\n');
  expect(info).toContain('quotadb_member:b\r\n');
  const toEu = ['--peer', `eu=127.0.0.1:${cluster.of('eu').ready.repl}`];
  const twin = spawnServer(['--transport', 'net', '--region', 'us', '--member', 'b', ...toEu]);
  try {
    const client = await TestClient.open((await twin.ready()).resp);
    await eventually(async () =>
      expect(await client.call('INFO', 'replication')).toContain('another server runs as region us/b'),
    );
    client.close();
  } finally {
    await twin.stop();
  }
  expect((await cluster.peer('eu', 'us/b')).state).toBe('connected');
});

test('a member with --data is killed under load: its clients go on, and nothing acknowledged is lost when it is back', async () => {
  const parent = await mkdtemp(join(tmpdir(), 'quotadb-members-'));
  directory = parent;
  const data = (name: string) => ['--data', join(parent, name.replace('/', '-')), '--fsync', 'always'];
  cluster = await TestRegions.make(NAMES);
  await cluster.startAll(data);
  await cluster.allConnected();
  const load = startLoad(portsOf('us/a', 'us/b'), CLIENTS, 'n');
  await eventually(async () => expect(load.acknowledged).toBeGreaterThan(SOME));
  await cluster.kill('us/a');
  const before = load.acknowledged;
  await eventually(async () => expect(load.acknowledged).toBeGreaterThan(before + SOME));
  await load.stop();
  await cluster.start('us/a', data('us/a'));
  await cluster.allConnected();
  await eventually(async () => expect(await cluster.value('us/b', 'n')).toBeGreaterThanOrEqual(load.acknowledged));
  await cluster.agreeOn('n', await cluster.value('us/b', 'n'));
  expect(await cluster.value('eu', 'n')).toBeLessThanOrEqual(load.attempted);
});

test('with --replicate-before-reply nothing acknowledged is lost though a member in memory never comes back', async () => {
  cluster = await TestRegions.start(NAMES, { flags: ['--replicate-before-reply', '1'] });
  await cluster.allConnected();
  const load = startLoad(portsOf('us/a', 'us/b'), CLIENTS, 'n');
  await eventually(async () => expect(load.acknowledged).toBeGreaterThan(SOME));
  await cluster.kill('us/a');
  const before = load.acknowledged;
  await eventually(async () => expect(load.acknowledged).toBeGreaterThan(before + SOME));
  await load.stop();
  await eventually(async () => {
    const values = await Promise.all(['us/b', 'eu'].map((name) => cluster.value(name, 'n')));
    expect(values[0]).toBe(values[1]);
    expect(values[0]).toBeGreaterThanOrEqual(load.acknowledged);
  });
  expect(await cluster.value('us/b', 'n')).toBeLessThanOrEqual(load.attempted);
});

test('a quota of a region admits new subjects while a member is down, and never more than its limit', async () => {
  const [limit, subjects] = [100, 20];
  cluster = await TestRegions.start(NAMES, { flags: ['--home', 'us'] });
  await cluster.allConnected();
  const define = ['QUOTA.DEFINE', 'calls', 'LIMIT', limit, 'WINDOW', '1d'] as const;
  // Of a member that is not the home, to which it forwards.
  expect(await cluster.call('us/b', ...define)).toBe('+OK\r\n');
  for (const name of NAMES)
    await eventually(async () => expect(await cluster.call(name, 'QUOTA.LIST')).toContain('calls'));
  expect(await cluster.call('us/b', 'QUOTA.HOME')).toContain('us: us/a us/b');
  const allowed = new Map<string, number>();
  const takeFrom = async (name: string, subject: string, wanted: number) => {
    for (let taken = 0; taken < wanted; taken++) {
      const reply = await cluster.call(name, 'QUOTA.TAKE', 'calls', subject, 1, 'WAIT', LONG_WAIT_MS);
      if (!reply.startsWith('*5\r\n:1\r\n')) return;
      allowed.set(subject, (allowed.get(subject) ?? 0) + 1);
    }
  };
  // Before the kill one subject is used up by all; the home is the one that dies.
  for (const name of NAMES) await takeFrom(name, 'seen', limit);
  expect(allowed.get('seen')).toBe(limit);
  await cluster.kill('us/a');
  for (let index = 0; index < subjects; index++) {
    await takeFrom('us/b', `unseen-${index}`, 1);
    expect(allowed.get(`unseen-${index}`), 'us/b has its part').toBe(1);
  }
  await takeFrom('eu', 'of-eu', 1);
  expect(allowed.get('of-eu'), 'eu gets tokens of us/b').toBe(1);
  for (const name of ['us/b', 'eu']) await takeFrom(name, 'last', limit);
  expect(allowed.get('last')).toBeGreaterThanOrEqual(limit / 2 - 1);
  await cluster.start('us/a');
  await cluster.allConnected();
  for (const name of NAMES) await takeFrom(name, 'last', limit);
  for (const [subject, count] of allowed) expect(count, subject).toBeLessThanOrEqual(limit);
});

test('a reply that no other server acknowledges in time is an error, and the change stays', async () => {
  cluster = await TestRegions.start(['us/a', 'us/b'], {
    flags: ['--replicate-before-reply', '1', '--replicate-timeout', '300'],
  });
  await cluster.allConnected();
  expect(await cluster.call('us/a', 'INCR', 'n')).toBe(':1\r\n');
  cluster.cut('us/a', 'us/b');
  const client = await TestClient.open(cluster.of('us/a').ready.resp);
  expect(await client.call('INCR', 'n')).toMatch(/^-NOREPLICAS fewer than 1 other servers hold these changes/);
  client.close();
  // Reads do not wait.
  expect(await cluster.call('us/a', 'GET', 'n')).toBe('$1\r\n2\r\n');
  cluster.heal('us/a', 'us/b');
  await cluster.agreeOn('n', 2);
});
