import { setTimeout } from 'node:timers/promises';
import { slotOfText } from '@quotadb/cluster';
import { describeWithRedis, freePort, type RedisServer, startRedis } from '@quotadb/wire/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runProgram, startTwoGroups, TestClient, type TestCluster } from '../testing/index.js';

/** A stock Redis Cluster of three nodes, and ours of two groups: the replies to the same words. */
describeWithRedis('the words of a Redis Cluster', () => {
  const nodes: RedisServer[] = [];
  let cluster: TestCluster;
  let redis: TestClient;
  let ours: TestClient;

  beforeAll(async () => {
    const settings = ['--cluster-enabled', 'yes', '--cluster-port'];
    // The bus would have the port + 10000, which may not be a port.
    for (let index = 0; index < 3; index++) nodes.push(await startRedis([...settings, String(await freePort())]));
    const addresses = nodes.map(({ port }) => `127.0.0.1:${port}`);
    const created = await runProgram('redis-cli', ['--cluster', 'create', ...addresses, '--cluster-yes']);
    expect(created.stdout).toContain('All 16384 slots covered');
    cluster = await startTwoGroups();
    redis = await TestClient.open(nodes[0].port);
    ours = await TestClient.open(cluster.portOf('a'));
    await ours.call('READONLY');
    while (!(await redis.call('CLUSTER', 'INFO')).includes('cluster_state:ok')) await setTimeout(50);
  });
  afterAll(async () => {
    redis?.close();
    ours?.close();
    await cluster?.remove();
    for (const node of nodes) await node.stop();
  });

  test('every key is in the slot that Redis puts it in', async () => {
    const keys = ['', 'a', '{a}b', 'x{y}z', '{}x', '{{a}}', 'a{b', 'a}{b}', 'ü{ß}', '\0{\0}'];
    for (let at = 0; at < 200; at++) keys.push(`${'k'.repeat(at % 17)}{${at}}${'}'.repeat(at % 3)}${at * at}`);
    const commands = keys.map((key) => ['CLUSTER', 'KEYSLOT', Buffer.from(key).toString('latin1')]);
    const slots = (await redis.send(commands)).map(({ text }) => Number(text));
    expect(keys.map((key) => slotOfText(key))).toEqual(slots);
  });

  // b is in the slot 3300 of the first node of both; foo in 12182, of another.
  test.each([
    ['CLUSTER COUNTKEYSINSLOT 16384'],
    ['CLUSTER COUNTKEYSINSLOT -1'],
    ['CLUSTER COUNTKEYSINSLOT x'],
    ['CLUSTER COUNTKEYSINSLOT 3300'],
    ['CLUSTER GETKEYSINSLOT 3300 -1'],
    ['CLUSTER GETKEYSINSLOT x 1'],
    ['CLUSTER GETKEYSINSLOT 3300 10'],
    ['CLUSTER REPLICAS x'],
    ['CLUSTER NONSENSE'],
    ['CLUSTER KEYSLOT'],
    ['READONLY'],
    ['READWRITE'],
    ['ASKING'],
    ['MGET b foo'],
    ['MSET b 1 foo 2'],
    ['DEL b foo'],
    ['SET b 1'],
    ['MGET b {b}2'],
    ['GET'],
    ['EVAL return(redis.call("get",ARGV[1])) 0 foo'],
    ['EVAL return(redis.call("get",ARGV[1])) 1 b b'],
    ['EVAL return(1) 2 b foo'],
    ['EVAL return(1) 0'],
    ['INFO cluster'],
    ['MULTI', 'SET b 1', 'SET {b}2 2', 'EXEC'],
    ['MULTI', 'SET b 1', 'SET bar 2', 'EXEC', 'EXEC'],
    ['MULTI', 'SET b 1', 'MGET b foo', 'EXEC'],
    ['MULTI', 'EXEC'],
    ['CLUSTER COUNTKEYSINSLOT 3300'],
    ['DEL b {b}2'],
  ])('%s is answered as Redis answers it', async (...lines) => {
    for (const line of lines) {
      const words = line.split(' ');
      const [theirs, own] = [await redis.call(...words), await ours.call(...words)];
      expect([line, withoutNumbers(own)]).toEqual([line, withoutNumbers(theirs)]);
    }
  });

  test('a key that is elsewhere is MOVED, with its slot and an address', async () => {
    for (const client of [redis, ours]) {
      expect(await client.call('GET', 'foo')).toMatch(/^-MOVED 12182 127\.0\.0\.1:\d+\r\n$/);
      expect(await client.call('EVAL', 'return 1', 1, 'foo')).toMatch(/^-MOVED 12182 127\.0\.0\.1:\d+\r\n$/);
    }
  });

  test.each([2, 3])('SLOTS, SHARDS, NODES, INFO, MYID and HELLO have the form of Redis in RESP%i', async (protocol) => {
    const forms = await Promise.all(
      [redis, ours].map(async (client) => ({
        hello: formOf(await client.call('HELLO', protocol)),
        slots: formOf(firstOf(await client.call('CLUSTER', 'SLOTS'))),
        shards: formOf(firstOf(await client.call('CLUSTER', 'SHARDS'))),
        node: (await client.call('CLUSTER', 'NODES'))
          .split('\n')
          .map(lineForm)
          .find((line) => line.includes('myself')),
        info: new Set((await client.call('CLUSTER', 'INFO')).match(/^(?!cluster_stats)\w+(?=:)/gm)),
        id: (await client.call('CLUSTER', 'MYID')).replace(/[0-9a-f]{40}/, 'ID'),
        mode: /redis_mode:(\w+)/.exec(await client.call('INFO', 'server'))?.[1],
      })),
    );
    expect(forms[1]).toEqual(forms[0]);
  });

  test('redis-cli finds nothing wrong with it', async () => {
    const { stdout } = await runProgram('redis-cli', ['--cluster', 'check', `127.0.0.1:${cluster.portOf('a')}`]);
    expect(stdout).toContain('All nodes agree about slots configuration.');
    expect(stdout).toContain('All 16384 slots covered.');
  });
});

/** Numbers that differ by nature: ports, and the digest that an error of a script names. */
function withoutNumbers(reply: string): string {
  return reply.replace(/127\.0\.0\.1:\d+/g, 'ADDRESS').replace(/ script: .*(?=\r\n)/, '');
}

/** The first item of a reply that is a list. */
function firstOf(reply: string): string {
  return reply.replace(/^\*\d+\r\n/, '').replace(/(health\r\n\$\d+\r\n\w+|\*0|%0)\r\n.*$/s, '$1');
}

/** The types of a reply and the texts that are the same everywhere. */
function formOf(reply: string): string {
  return reply
    .replace(/[0-9a-f]{40}/g, 'ID')
    .replace(/:\d+\r\n/g, ':N\r\n')
    .replace(/\$\d+\r\n(\d+\.\d+\.\d+)\r\n/g, '$VERSION\r\n');
}

function lineForm(line: string): string {
  return line
    .replace(/^.*?([0-9a-f]{40}) 127\.0\.0\.1:\d+@\d+ /, 'ID ADDRESS ')
    .replace(/ \d+ \d+ \d+ connected /, ' N N N connected ')
    .replace(/\d+-\d+$/, 'SLOTS');
}
