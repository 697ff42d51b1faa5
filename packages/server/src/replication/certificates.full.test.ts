import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { eventually, SpawnedServer, spawnServer, TestRegions } from '../testing/index.js';

/** Several processes each, on a machine that may have other things to do. */
vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 });

let regions: TestRegions | undefined;
let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'quotadb-test-'));
});
afterEach(async () => {
  await regions?.close();
  regions = undefined;
  await rm(directory, { recursive: true });
});

async function certs(...words: string[]): Promise<void> {
  const { code, stderr } = await new SpawnedServer(['certs', ...words]).finished;
  if (code !== 0) throw new Error(stderr);
}

/** An authority of its own for each name. */
async function authority(name: string, cluster = 'quotadb'): Promise<string> {
  const path = join(directory, name);
  await certs('init', '--cluster', cluster, '--out', path);
  return path;
}

const issue = (path: string, region: string, ...flags: string[]) =>
  certs('issue', '--region', region, '--dir', path, ...flags);

const material = (path: string, region: string) => [
  ...['--repl-cert', join(path, `${region}.crt`), '--repl-key', join(path, `${region}.key`)],
  ...['--repl-ca', join(path, 'ca.crt')],
];

test('with certificates of one authority regions use TLS; a hub relays if its certificate allows it', async () => {
  const path = await authority('ca');
  await issue(path, 'hub', '--relay');
  for (const region of ['a', 'b']) await issue(path, region);
  regions = await TestRegions.make(['hub', 'a', 'b'], {
    dials: [
      ['a', 'hub'],
      ['b', 'hub'],
    ],
  });
  await regions.startAll((name) => material(path, name));
  await regions.call('a', 'INCRBY', 'k', 3);
  await regions.call('b', 'INCRBY', 'k', 4);
  await regions.agreeOn('k', 7);
  expect(await regions.call('a', 'INFO', 'replication')).toContain('quotadb_repl_tls:1\r\n');
});

test('a hub without that right is not asked for what others wrote', async () => {
  const path = await authority('ca');
  for (const region of ['hub', 'a', 'b']) await issue(path, region);
  regions = await TestRegions.make(['hub', 'a', 'b'], {
    dials: [
      ['a', 'hub'],
      ['b', 'hub'],
    ],
  });
  await regions.startAll((name) => material(path, name));
  await regions.call('a', 'INCRBY', 'k', 3);
  const there = regions;
  await eventually(async () => expect(await there.value('hub', 'k')).toBe(3));
  await regions.call('hub', 'INCRBY', 'k', 1);
  await eventually(async () => expect(await there.value('b', 'k')).toBe(1));
});

test.each([
  ['of another authority', async () => material(await issued('other', 'eu'), 'eu')],
  ['of no authority, without TLS,', async () => []],
])('a region with a certificate %s is not let in; it is logged and counted', async (_, flagsOf) => {
  const path = await issued('ca', 'us');
  regions = await TestRegions.make(['us', 'eu'], { dials: [['eu', 'us']] });
  const there = regions;
  await there.start('us', material(path, 'us'));
  await there.start('eu', await flagsOf());
  await eventually(async () => expect((await there.peer('eu', 'us')).trouble).not.toBe(''));
  await eventually(async () => {
    expect(await there.call('us', 'INFO', 'replication')).toMatch(/quotadb_repl_refused:\w+=\d/);
  });
  expect((await there.peer('eu', 'us')).state).not.toBe('connected');
  expect(await there.stop('us')).toContain('a connection for replication was refused');
});

test("another region's certificate does not speak for this one: the server does not even start with it", async () => {
  const path = await issued('ca', 'us');
  const { code, stderr } = await spawnServer(['--region', 'eu', ...material(path, 'us')]).finished;
  expect(code).toBe(1);
  expect(stderr).toContain('is for quotadb/us, and this is quotadb/eu');
});

test('new certificates are taken without a restart: a region that only knows the new authority gets in', async () => {
  const old = await issued('old', 'us');
  const fresh = await issued('new', 'us');
  await issue(fresh, 'eu');
  regions = await TestRegions.make(['us', 'eu'], { dials: [['eu', 'us']] });
  await regions.start('us', material(old, 'us'));
  await regions.start('eu', material(fresh, 'eu'));
  const there = regions;
  await eventually(async () => expect((await there.peer('eu', 'us')).trouble).not.toBe(''));
  await cp(fresh, old, { recursive: true });
  await there.connected('eu', 'us');
  await there.call('eu', 'INCR', 'k');
  await there.agreeOn('k', 1);
});

async function issued(name: string, region: string): Promise<string> {
  const path = await authority(name);
  await issue(path, region);
  return path;
}

test('members have certificates of their own, under whose seal the division of tokens travels', async () => {
  const path = await authority('ca');
  await issue(path, 'us');
  await issue(path, 'us', '--member', 'b');
  regions = await TestRegions.make(['us', 'us/b'], { flags: ['--home', 'us'] });
  const files = (name: string) => material(path, name.replace('/', '.'));
  await regions.startAll(files);
  await regions.allConnected();
  expect(await regions.call('us/b', 'INFO', 'replication')).toContain('quotadb_repl_tls:1');
  expect(await regions.call('us/b', 'QUOTA.DEFINE', 'calls', 'LIMIT', 10, 'WINDOW', '1d')).toBe('+OK\r\n');
  for (const name of ['us', 'us/b'])
    await eventually(async () => {
      const home = await regions?.call(name, 'QUOTA.HOME');
      expect(home).toContain('us: us us/b\r\n');
      expect(home).toContain('sealed\r\n:1');
    });
  const wrong = spawnServer(['--region', 'us', '--member', 'c', '--home', 'us', ...files('us/b')]);
  const { code, stderr } = await wrong.finished;
  expect(code).not.toBe(0);
  expect(stderr).toContain('is for quotadb/us/b, and this is quotadb/us/c');
});
