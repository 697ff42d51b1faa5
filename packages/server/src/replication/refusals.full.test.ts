import { createToken } from '@quotadb/config';
import { afterEach, expect, test, vi } from 'vitest';
import { eventually, SpawnedServer, spawnServer, TestClient, TestRegions } from '../testing/index.js';

/** Several processes each, on a machine that may have other things to do. */
vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 });

let regions: TestRegions | undefined;
const servers: SpawnedServer[] = [];
afterEach(async () => {
  await regions?.close();
  regions = undefined;
  for (const server of servers.splice(0)) {
    server.child.kill('SIGKILL');
    await server.finished;
  }
});

test.each([
  ['another cluster', ['--cluster', 'other'], 'is in cluster "quotadb", eu in "other" (--cluster)'],
  ['another number of shards', ['--shards', '32'], 'has 64 shards, eu 32 (--shards); they must be equal'],
  [
    'other grow-only keys',
    ['--grow-only', 'total:'],
    '--grow-only is "" in us and "total:" in eu; it must be the same',
  ],
])('a region with %s is refused, in words that both logs have and INFO counts', async (_, flags, words) => {
  regions = await TestRegions.make(['us', 'eu'], { dials: [['eu', 'us']] });
  await regions.start('us');
  await regions.start('eu', flags);
  const there = regions;
  await eventually(async () => expect((await there.peer('eu', 'us')).state).toBe('refused'));
  await eventually(async () => {
    const info = await there.call('us', 'INFO', 'replication');
    expect(info).toMatch(/quotadb_repl_refused:\w+=\d/);
  });
  await there.call('us', 'INCR', 'k');
  await there.call('eu', 'INCR', 'k');
  expect(await there.value('us', 'k')).toBe(1);
  const logs = await Promise.all(['us', 'eu'].map((name) => there.stop(name)));
  // Each side names itself first; which of the two spoke first does not matter.
  const parts = words
    .split(/[;,]/)[0]
    .split('"')
    .filter((part) => part.includes('--'));
  for (const log of logs) for (const part of parts) expect(log).toContain(part.trim());
  expect(logs.some((log) => log.replaceAll('\\"', '"').includes(words))).toBe(true);
});

test('a region that answers under another name is refused by the one that dialed it', async () => {
  regions = await TestRegions.make(['us', 'eu', 'ap'], { dials: [['us', 'ap']] });
  const there = regions;
  await there.start('eu');
  await there.start('us');
  await there.call('us', 'REPL.PEERS', 'ADD', 'ap', `127.0.0.1:${there.of('eu').ready.repl}`);
  await eventually(async () => expect((await there.peer('us', 'ap')).trouble).toContain('has dialed ap and found eu'));
});

test('mistakes in the flags are all said before anything starts', async () => {
  const words = [
    'serve',
    '--region',
    'us',
    '--peer',
    'us=127.0.0.1:1',
    '--peer',
    'eu=192.0.2.1:1',
    '--repl-host',
    '0.0.0.0',
  ];
  const { code, stderr } = await new SpawnedServer([...words, '--repl-cert', 'a.pem']).finished;
  expect(code).toBe(2);
  expect(stderr.trim().split('\n')).toEqual([
    expect.stringContaining('--repl-cert, --repl-key and --repl-ca belong together'),
    expect.stringContaining('--repl-host: 0.0.0.0 can be reached from other machines'),
    expect.stringContaining('--peer: us is the name of this server itself'),
    expect.stringContaining('--peer: eu is not on this machine'),
  ]);
});

test.each([
  ['a password', ['--password', 'x']],
  ['users', ['--users', JSON.stringify({ web: { roles: ['read'], tokens: [createToken().hash] } })]],
  ['a counts token', ['--counts-token', 'x']],
])('with %s and without certificates replication has to be asked for by name', async (_, credential) => {
  const start = (...flags: string[]) => {
    const server = spawnServer(['--transport', 'net', '--max-memory', '16mb', ...credential, ...flags]);
    servers.push(server);
    return server;
  };
  expect((await start().ready()).repl).toBeUndefined();
  expect((await start('--repl-plaintext').ready()).repl).toBeGreaterThan(0);
  const { code, stderr } = await start('--peer', 'eu=127.0.0.1:1').finished;
  expect([code, stderr]).toEqual([2, expect.stringContaining('--peer: there are credentials')]);
});

test('peers are listed, added and removed while the servers run', async () => {
  regions = await TestRegions.make(['us', 'eu'], { dials: [] });
  const there = regions;
  await there.startAll();
  const quotadb = async (...words: string[]) => {
    const server = `127.0.0.1:${there.of('us').ready.resp}`;
    return new SpawnedServer(['peers', ...words, '--server', server]).finished;
  };
  const address = `127.0.0.1:${there.of('eu').ready.repl}`;
  expect(await quotadb('add', 'eu', address)).toMatchObject({ code: 0, stdout: 'OK\n' });
  await there.call('us', 'INCR', 'k');
  await there.agreeOn('k', 1);
  await eventually(async () => {
    expect((await quotadb('list')).stdout).toMatch(new RegExp(`^region.*\\neu +connected +${address}`));
  });
  expect(await quotadb('remove', 'eu')).toMatchObject({ code: 0 });
  expect((await quotadb('list')).stdout.trim().split('\n')).toHaveLength(1);
  // It is not let in either, until it is added again.
  const { resp, repl } = there.of('us').ready;
  await there.call('eu', 'REPL.PEERS', 'ADD', 'us', `127.0.0.1:${repl}`);
  await eventually(async () => expect((await there.peer('eu', 'us')).trouble).toContain('was removed from the peers'));
  expect(await quotadb('add', 'eu', address)).toMatchObject({ code: 0 });
  await there.call('eu', 'INCR', 'k');
  await there.agreeOn('k', 2);
  expect(await quotadb('add', 'EU!', address)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('"EU!" must be a region'),
  });
  expect(await quotadb('add', 'us', address)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('this server itself'),
  });
  const client = await TestClient.open(resp);
  expect(await client.call('REPL.PEERS', 'ADD', 'ap', 'nowhere')).toMatch(/^-ERR "nowhere" must be host:port/);
  expect(await client.call('REPL.SHARDS', 'xx')).toBe('-ERR xx is no peer of this region\r\n');
  client.close();
});
