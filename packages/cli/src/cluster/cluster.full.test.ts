import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { nodeIdOf } from '@quotadb/cluster';
import { EtcdMapStore } from '@quotadb/cluster/etcd';
import { QUOTADB_BINARY, runProgram } from '@quotadb/server/testing';
import { describeWithEtcd, EtcdServers } from '@quotadb/wire/testing';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';

/** Some twenty processes, on a machine that may have other things to do. */
vi.setConfig({ testTimeout: 180_000, hookTimeout: 60_000 });

const MAP = `
revision: 1
groups:
  red:
    slots: 0-16383
    members:
      - { region: eu, member: a, host: 10.0.0.1, port: 6380 }
`;

describeWithEtcd('quotadb cluster', () => {
  let etcd: EtcdServers;
  let directory: string;
  let prefix = '';
  beforeAll(async () => {
    etcd = await EtcdServers.start();
    directory = await mkdtemp(join(tmpdir(), 'quotadb-cluster-tool-'));
    await writeFile(join(directory, 'map.yaml'), MAP);
  });
  afterAll(async () => {
    await etcd.remove();
    await rm(directory, { recursive: true });
  });

  const run = (...words: string[]) =>
    runProgram(process.execPath, [QUOTADB_BINARY, 'cluster', ...words], {
      env: { ...process.env, QUOTADB_ETCD: etcd.urls.join(), QUOTADB_ETCD_PREFIX: prefix },
    });
  const add = (...words: string[]) => run('add', 'red', '--region', 'eu', '--port', '6380', '--yes', ...words);

  test('puts the first map, shows it with the members that live, and changes its members', async () => {
    prefix = '/one';
    expect(await run('status')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('quotadb cluster init FILE'),
    });
    const missing = join(directory, 'none.yaml');
    expect(await run('init', missing)).toMatchObject({ code: 1, stderr: expect.stringContaining(missing) });
    expect(await run('init', join(directory, 'map.yaml'))).toMatchObject({ code: 0 });
    expect(await run('init', join(directory, 'map.yaml'))).toMatchObject({
      code: 1,
      stderr: 'quotadb: etcd has a cluster map already, of revision 1: quotadb cluster status shows it\n',
    });
    const store = new EtcdMapStore({ urls: etcd.urls, prefix, leaseSeconds: 30 });
    await store.announce(nodeIdOf({ group: 'red', region: 'eu', name: 'a' }), { revision: 1 });
    expect(await run('status')).toEqual({
      code: 0,
      stdout: [
        'the map has the revision 1',
        'group  slots  member  address        state  revision  which slots',
        'red    16384  eu/a    10.0.0.1:6380  live   1         0-16383',
        '',
      ].join('\n'),
      stderr: '',
    });

    const refused = await run('add', 'red', '--region', 'eu', '--member', 'b', '--host', '10.0.0.2', '--port', '6380');
    expect(refused).toEqual({
      code: 1,
      stdout: 'the group red gets the member eu/b at 10.0.0.2:6380\n',
      stderr: 'quotadb: nothing was changed: say --yes to do it\n',
    });
    expect(await add('--member', 'b', '--host', '10.0.0.2', '--json')).toMatchObject({
      code: 0,
      stdout: '{"revision":2,"changes":["the group red gets the member eu/b at 10.0.0.2:6380"]}\n',
    });
    expect(await add('--member', 'b', '--host', '10.0.0.3')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("two members 'b'"),
    });
    expect(await add('--member', 'B!', '--host', '10.0.0.3')).toMatchObject({ code: 1 });
    const status = await run('status', '--json');
    expect(status.code).toBe(1);
    expect(JSON.parse(status.stdout)).toMatchObject({
      revision: 2,
      moves: [],
      paused: false,
      groups: [{ name: 'red', slotCount: 16_384, members: [{ isLive: true, revision: 1 }, { isLive: false }] }],
    });

    expect(await run('remove', 'red', '--yes')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('has the slots'),
    });
    expect(await run('remove', 'red', '--region', 'eu', '--member', 'a', '--yes')).toEqual({
      code: 0,
      stdout:
        'the group red loses the member eu/a at 10.0.0.1:6380, which runs: stop it, it keeps the map that it has\n' +
        'done: the map has the revision 3\n',
      stderr: '',
    });
    const added = await run('add', 'blue', '--region', 'eu', '--host', '10.0.0.9', '--tls-port', '6390', '--yes');
    expect(added.stdout).toContain('the group blue is new, and has no slots');
    expect(await run('remove', 'blue', '--yes')).toMatchObject({ code: 0 });
    expect(Object.keys((await store.read())?.document.groups ?? {})).toEqual(['red']);
    await store.stop();
  });

  test('loses no change of several operators at once', async () => {
    prefix = '/many';
    await run('init', join(directory, 'map.yaml'));
    const names = ['b', 'c', 'd'];
    const results = await Promise.all(names.map((name) => add('--member', name, '--host', `10.0.1.${name}`)));
    expect(results.map(({ code }) => code)).toEqual([0, 0, 0]);
    const { revision, groups } = JSON.parse((await run('status', '--json')).stdout);
    expect(revision).toBe(4);
    expect(groups[0].members.map(({ member }: { member: string }) => member).sort()).toEqual(['a', ...names]);
  });

  test('says that etcd has an older map than servers, changes nothing then, and takes a newer one back', async () => {
    prefix = '/restored';
    await run('init', join(directory, 'map.yaml'));
    const store = new EtcdMapStore({ urls: etcd.urls, prefix, leaseSeconds: 30 });
    await store.announce(nodeIdOf({ group: 'red', region: 'eu', name: 'a' }), { revision: 7 });
    const older = /servers have the map of revision 7, and etcd that of 1: .* quotadb cluster init FILE --replace\n/;
    expect(await run('status')).toMatchObject({ code: 1, stdout: expect.stringMatching(older) });
    expect(await add('--member', 'b', '--host', '10.0.0.2')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(older),
    });
    const kept = join(directory, 'cluster-map.json');
    const replace = (...words: string[]) => run('init', kept, '--replace', ...words);
    const members = [{ region: 'eu', member: 'a', host: '10.0.0.1', port: 6380 }];
    const other = [{ region: 'eu', host: '10.0.0.2', port: 6380 }];
    const groups = { red: { slots: '0-16383', members }, blue: { members: other } };
    await writeFile(kept, JSON.stringify({ revision: 1, groups }));
    expect(await replace('--yes')).toMatchObject({ code: 1, stderr: expect.stringContaining('not newer') });
    // As it is in the middle of a move.
    const moves = [{ slots: '0-99', from: 'red', to: 'blue', held: '0-9', since: 7 }];
    await writeFile(kept, JSON.stringify({ revision: 7, groups, moves }));
    expect(await replace()).toMatchObject({ code: 1, stderr: expect.stringContaining('say --yes') });
    expect(await replace('--yes')).toMatchObject({ code: 0 });
    expect((await store.read())?.document).toEqual({ revision: 7, groups, moves });
    expect((await run('status')).stdout).not.toMatch(/servers have/);
    await store.stop();
  });

  test('says what is wrong with its settings, and which etcd does not answer', async () => {
    const words = ['cluster', 'status', '--etcd', 'http://127.0.0.1:1'];
    expect(await runProgram(process.execPath, [QUOTADB_BINARY, ...words])).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('etcd is not reachable: 127.0.0.1:1 '),
    });
    expect(await run('status', '--etcd-user', 'root')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--etcd-password'),
    });
    expect(await run('status', '--etcd', 'ftp://x')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--etcd'),
    });
  });
});
