import { hashPassword } from '@quotadb/config';
import { afterEach, describe, expect, test } from 'vitest';
import {
  certificateFiles,
  createAuthority,
  issueCertificate,
  startTwoGroups,
  type TestClient,
  TestCluster,
  TWO_GROUPS,
} from '../testing/index.js';

// Slots: b 3300 and c 7365 are of group a; a 15495 and foo 12182 of group b.
let cluster: TestCluster;

afterEach(() => cluster?.remove());

describe('a client without cluster support', () => {
  test('gets replies of every form as the owner gives them, in RESP2 and RESP3', async () => {
    cluster = await startTwoGroups();
    for (const protocol of [2, 3]) {
      const [carried, direct] = [await cluster.client('a'), await cluster.client('b')];
      for (const client of [carried, direct]) await client.call('HELLO', protocol);
      const script = "return {1, 'x\\r\\n', {ok='fine'}, {err='ERR no'}, false, {}}";
      for (const words of [
        ['GET', 'foo'],
        ['SET', 'foo', 7, 'GET'],
        ['GET', 'foo'],
        ['INCRBY', 'foo', 'x'],
        ['EVAL', script, 1, 'foo'],
        ['EVAL', "return redis.error_reply('MY no')", 1, 'foo'],
        ['WINDOW.GET', 'foo', 1000, 0],
        ['DEL', 'foo'],
      ]) {
        const replies = [await carried.call(...words), await direct.call(...words)];
        if (words[0] !== 'SET' && words[0] !== 'DEL') expect([words, replies[0]]).toEqual([words, replies[1]]);
        else expect(replies[0]).not.toBe('');
      }
    }
  });

  test('settles a reservation at any node', async () => {
    cluster = await startTwoGroups();
    const [one, other] = [await cluster.client('a'), await cluster.client('b')];
    for (const client of [one, other]) await client.call('QUOTA.DEFINE', 'calls', 'LIMIT', 100, 'WINDOW', '1h');
    for (const subject of ['b', 'foo']) {
      const reservation = /[\w-]+@local\{\w+\}/.exec(
        await one.call('QUOTA.RESERVE', 'calls', subject, 10, 'TTL', '1m'),
      );
      expect(await other.call('QUOTA.COMMIT', reservation?.[0] ?? '', 4)).toBe('*2\r\n:4\r\n:0\r\n');
      expect(await other.call('QUOTA.CANCEL', reservation?.[0] ?? '')).toBe(':0\r\n');
    }
    expect(await one.call('QUOTA.TAKEALL', 2, 'calls', '{foo}1', 1, 'calls', '{foo}2', 1)).toMatch(/^\*3\r\n:1\r\n/);
    expect(await one.call('QUOTA.TAKEALL', 2, 'calls', 'b', 1, 'calls', 'foo', 1)).toMatch(/^-CROSSSLOT/);
  });

  test('gets an error that says what happened when the owner is away, and is served again when it is back', async () => {
    cluster = await startTwoGroups();
    const client = await cluster.client('a');
    expect(await client.call('INCR', 'foo')).toBe(':1\r\n');
    await cluster.stop('b');
    expect(await client.call('INCR', 'foo')).toMatch(
      /^-(CLUSTERDOWN no member of the group b|ERR the group b has not)/,
    );
    await expect.poll(() => cluster.metric('a', /^quotadb_cluster_nodes\{state="unreachable"\} (\d+)$/m)).toBe('1');
    expect(await client.call('CLUSTER', 'NODES')).toMatch(/ master,fail - .* disconnected 8192-16383\n/);
    await cluster.start('b');
    const again = await cluster.client('a');
    await expect.poll(() => again.call('INCR', 'foo')).toBe(':1\r\n');
  });

  test('is carried by the user of the cluster where there are users', async () => {
    const admin = { name: 'node', roles: ['admin'] as const, prefixes: [], passwords: [], tokens: [] };
    const web = { name: 'web', roles: ['write'] as const, prefixes: ['fo', 'b'], passwords: [], tokens: [] };
    const [secret, other] = await Promise.all([hashPassword(Buffer.from('secret')), hashPassword(Buffer.from('web'))]);
    cluster = await startTwoGroups({
      users: new Map([
        ['node', { ...admin, passwords: [secret] }],
        ['web', { ...web, passwords: [other] }],
      ]),
      clusterUser: 'node',
      clusterPassword: 'secret',
    });
    const client = await cluster.client('a');
    expect(await client.call('INCR', 'foo')).toMatch(/^-NOAUTH/);
    expect(await client.call('AUTH', 'web', 'web')).toBe('+OK\r\n');
    await expect.poll(() => client.call('INCRBY', 'foo', 0)).toBe(':0\r\n');
    expect(await client.call('INCR', 'foo')).toBe(':1\r\n');
    expect(await client.call('INCR', 'a')).toMatch(/^-NOPERM/);
    expect(await client.call('GET', 'foo')).toMatch(/^-NOPERM/);
  });
});

test('maps that differ for a moment make no loop: the caller is asked to try again', async () => {
  cluster = await TestCluster.prepare('a', 'b');
  await cluster.give(cluster.map(1, TWO_GROUPS), 'a');
  // Here no group has most slots of b.
  await cluster.give(cluster.map(1, { a: { slots: '0-8191' }, b: { slots: '8192' } }), 'b');
  await Promise.all([cluster.start('a'), cluster.start('b')]);
  expect(await (await cluster.client('a')).call('INCR', 'foo')).toMatch(/^-CLUSTERDOWN Hash slot not served/);
  await cluster.remove();

  cluster = await TestCluster.prepare('a', 'b', 'c');
  const three = { a: { slots: '0-8191' }, b: { slots: '8192-16383' }, c: { slots: '' } };
  const { slots: _, ...without } = three.c;
  await cluster.give(
    cluster.map(1, { ...three, c: { slots: '16383', ...without }, b: { slots: '8192-16382' } }),
    'a',
    'c',
  );
  await cluster.give(
    cluster.map(1, { a: { slots: '0-8191' }, b: { slots: '16383' }, c: { slots: '8192-16382' } }),
    'b',
  );
  await Promise.all([cluster.start('a'), cluster.start('b')]);
  expect(await (await cluster.client('a')).call('INCR', 'foo')).toMatch(
    /^-TRYAGAIN the group b has another cluster map/,
  );
});

describe('another revision of the map', () => {
  const moved = { a: { slots: '0-8000' }, b: { slots: '8001-16383' } };

  test('is refused where it would take a slot away that something is in', async () => {
    cluster = await startTwoGroups();
    const client = await cluster.client('a');
    const lost = await findKey(client, (slot) => slot > 8000 && slot < 8192);
    await client.call('WINDOW.INCRBY', lost, '1h', 1);
    await cluster.give(cluster.map(2, moved), 'a', 'b');
    await expect.poll(() => cluster.metric('a', /^quotadb_cluster_map_mistakes (\d+)$/m)).toBe('1');
    await expect.poll(() => cluster.metric('b', /^quotadb_cluster_map_mistakes (\d+)$/m)).toBe('1');
    expect([await cluster.revisionOf('a'), await cluster.revisionOf('b')]).toEqual(['1', '1']);
    expect(await client.call('WINDOW.INCRBY', lost, '1h', 1)).toMatch(/^\*3\r\n:2\r\n/);
  });

  test('is refused with mistakes, without a higher number, and without this server', async () => {
    cluster = await startTwoGroups();
    const client = await cluster.client('a');
    const mistakes = () => cluster.metric('a', /^quotadb_cluster_map_mistakes (\d+)$/m);
    for (const text of ['revision: 2', cluster.map(1, moved), cluster.map(2, { b: { slots: '0-16383' } })]) {
      await cluster.give(text, 'a');
      await expect.poll(mistakes).toBe('1');
      expect(await cluster.revisionOf('a')).toBe('1');
      await cluster.give(cluster.map(1, TWO_GROUPS), 'a');
      await expect.poll(mistakes).toBe('0');
    }
    expect(await client.call('INCR', 'b')).toBe(':1\r\n');
  });
});

async function findKey(client: TestClient, isMeant: (slot: number) => boolean): Promise<string> {
  for (let at = 0; ; at++) {
    const key = `k${at}`;
    if (isMeant(Number((await client.call('CLUSTER', 'KEYSLOT', key)).slice(1)))) return key;
  }
}

describe('a server does not start', () => {
  test('with a map that has mistakes, or that does not have it', async () => {
    cluster = await TestCluster.prepare('a', 'b');
    await cluster.give('revision: x', 'a');
    await expect(cluster.start('a')).rejects.toThrow(/--cluster-map: line 1, revision: the revision is a whole number/);
    await cluster.give(cluster.map(1, { b: { slots: '0' } }), 'a');
    await expect(cluster.start('a')).rejects.toThrow(/the group a has no member of this server's name in the map/);
  });
});

test('the slots of a group are divided among its members, and those of one that is away go to the others', async () => {
  cluster = await TestCluster.prepare('a/one', 'a/two', 'b');
  const groups = { a: { slots: '0-8191', members: ['one', 'two'] }, b: TWO_GROUPS.b };
  await cluster.give(cluster.map(1, groups), 'a/one', 'a/two', 'b');
  await Promise.all(['a/one', 'a/two', 'b'].map((name) => cluster.start(name)));
  const client = await cluster.client('b');
  const slots = async () =>
    [...(await client.call('CLUSTER', 'NODES')).matchAll(/connected ?(.*)$/gm)].map(([, at]) => at);
  await expect.poll(slots).toEqual(['0-4095', '4096-8191', '8192-16383']);
  await cluster.stop('a/one');
  await expect.poll(slots).toEqual(['', '0-8191', '8192-16383']);
  await cluster.start('a/one');
  await expect.poll(slots).toEqual(['0-4095', '4096-8191', '8192-16383']);
});

test('nodes reach each other over TLS, and trust only the authority that they know', async () => {
  const files = await certificateFiles();
  const authority = createAuthority('the authority of a test');
  const own = await files.write('node', issueCertificate(authority, 'node'));
  const trusted = await files.write('authority', authority);
  const stranger = await files.write('stranger', createAuthority('another authority'));
  cluster = await TestCluster.prepare('a', 'b');
  await cluster.give(cluster.map(1, TWO_GROUPS, 'tlsPort'), 'a', 'b');
  const tls = { tlsCertificate: own.certificate, tlsKey: own.key, tlsAuthority: trusted.certificate };
  const start = (name: string, settings: object = {}) =>
    cluster.start(name, { respPort: 0, respTlsPort: cluster.portOf(name), ...tls, ...settings });
  await Promise.all([start('a'), start('b')]);
  const open = () => cluster.client('a', cluster.servers.get('a')?.port);
  const client = await open();
  await expect.poll(() => client.call('INCRBY', 'foo', 0)).toBe(':0\r\n');
  expect(await client.call('INCR', 'foo')).toBe(':1\r\n');
  await cluster.stop('a');
  await start('a', { tlsAuthority: stranger.certificate });
  expect(await (await open()).call('INCR', 'foo')).toMatch(/^-CLUSTERDOWN no member of the group b can be reached/);
  await files.remove();
});
