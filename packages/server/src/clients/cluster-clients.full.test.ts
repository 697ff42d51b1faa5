import { spawnSync } from 'node:child_process';
import { QuotadbClient } from '@quotadb/client';
import { slotOfText } from '@quotadb/cluster';
import { Cluster as Cluster5, Redis } from 'ioredis';
import { Cluster as Cluster6 } from 'ioredis6';
import { createCluster as createCluster5 } from 'redis';
import { createCluster as createCluster6 } from 'redis6';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { runProgram, startTwoGroups, TestClient, type TestCluster } from '../testing/index.js';

/**
 * Clients as they are, on two groups. Each counts in the same keys; then the totals are right and every key is in its
 * group. Where nothing is carried, a client that sent a key to the wrong node would fail.
 */
const KEYS = Array.from({ length: 60 }, (_, at) => `key:${at}`);
const PYTHON = '/usr/bin/python3';

function hasProgram(program: string, words: readonly string[]): boolean {
  const isThere = spawnSync(program, words).status === 0 || process.env.CI === 'true';
  if (!isThere) process.stderr.write(`no ${program} ${words.join(' ')}: it is not tested on a cluster\n`);
  return isThere;
}

describe.each(['no', 'yes'] as const)('with --cluster-forward %s', (clusterForward) => {
  let cluster: TestCluster;
  beforeAll(async () => {
    cluster = await startTwoGroups({ clusterForward });
  });
  afterAll(() => cluster?.remove());
  beforeEach(async () => {
    for (const { port } of cluster.servers.values()) await onNode(port, 'FLUSHALL');
  });

  async function onNode(port: number, ...words: string[]): Promise<string> {
    const client = await TestClient.open(port);
    const reply = await client.call(...words);
    client.close();
    return reply;
  }

  /** Every key was counted `total` times, and is in the group of its slot, and in no other. */
  async function expectTotals(total: number): Promise<void> {
    for (const [group, isMeant] of [
      ['a', (slot: number) => slot < 8192],
      ['b', (slot: number) => slot >= 8192],
    ] as const) {
      const client = await TestClient.open(cluster.portOf(group));
      await client.call('READONLY');
      const keys = KEYS.filter((key) => isMeant(slotOfText(key)));
      expect(await client.call('KEYS', 'key:*')).toMatch(new RegExp(`^\\*${keys.length}\r\n`));
      for (const key of keys) expect([key, await client.call('GET', key)]).toEqual([key, `$1\r\n${total}\r\n`]);
      client.close();
    }
  }

  const root = () => ({ host: '127.0.0.1', port: cluster.portOf('a') });

  test.each([
    ['ioredis 5', Cluster5],
    ['ioredis 6', Cluster6 as unknown as typeof Cluster5],
  ])('%s counts, pipelines and runs scripts', async (_, Cluster) => {
    const client = new Cluster([root()]);
    client.on('error', () => {});
    await Promise.all(KEYS.map((key) => client.incr(key)));
    for (const key of KEYS) {
      const pipeline = client.pipeline();
      pipeline.incr(key).incr(key);
      expect(await pipeline.exec()).toEqual([
        [null, 2],
        [null, 3],
      ]);
    }
    for (const key of KEYS) expect(await client.eval("return redis.call('incr', KEYS[1])", 1, key)).toBe(4);
    if (clusterForward === 'no') await expect(client.mget('key:1', 'key:2')).rejects.toThrow(/CROSSSLOT/);
    client.disconnect();
    await expectTotals(4);
  });

  test.each([
    ['node-redis 5', createCluster5],
    ['node-redis 6', createCluster6 as unknown as typeof createCluster5],
  ])('%s counts, in transactions too', async (_, createCluster) => {
    const { host, port } = root();
    const client = createCluster({ rootNodes: [{ url: `redis://${host}:${port}` }] });
    client.on('error', () => {});
    await client.connect();
    await Promise.all(KEYS.map((key) => client.incr(key)));
    for (const key of KEYS) expect(await client.multi().incr(key).incr(key).exec()).toEqual([2, 3]);
    expect(await client.sendCommand('key:1', true, ['RATE.LIMIT', 'key:1', '10', '1h'])).toEqual([
      1,
      10,
      9,
      expect.any(Number),
      0,
    ]);
    await client.destroy();
    await expectTotals(3);
  });

  test.skipIf(!hasProgram(PYTHON, ['-c', 'from redis.cluster import RedisCluster']))('redis-py counts', async () => {
    const program = `
from redis.cluster import RedisCluster
client = RedisCluster(host="127.0.0.1", port=${root().port})
keys = ["key:%d" % n for n in range(${KEYS.length})]
for key in keys:
    client.incr(key)
pipe = client.pipeline()
for key in keys:
    pipe.incrby(key, 2)
assert pipe.execute() == [3] * len(keys)
assert client.mget_nonatomic(keys) == [b"3"] * len(keys)
assert client.execute_command("RATE.LIMIT", keys[1], 10, 3600000)[0] == 1
print("done")
`;
    const { stdout, stderr } = await runProgram(PYTHON, ['-c', program]);
    expect([stdout, stderr]).toEqual(['done\n', '']);
    await expectTotals(3);
  });

  test.skipIf(!hasProgram('redis-cli', ['--version']))('redis-cli -c follows its keys', async () => {
    for (const key of KEYS) {
      const { stdout } = await runProgram('redis-cli', ['-c', '-p', String(root().port), 'INCR', key]);
      expect(stdout).toBe('1\n');
    }
    await expectTotals(1);
  });

  test.skipIf(!hasProgram('redis-benchmark', ['--version']))(
    'redis-benchmark --cluster counts on all nodes',
    async () => {
      const words = ['--cluster', '-p', String(root().port), '-n', '4000', '-c', '8', '-r', '1000', '-t', 'incr', '-q'];
      const { code, stdout } = await runProgram('redis-benchmark', words);
      expect([code, stdout]).toEqual([0, expect.stringMatching(/INCR: .* requests per second/)]);
      const totals = await Promise.all(
        ['a', 'b'].map(async (group) => {
          const client = await TestClient.open(cluster.portOf(group));
          const keys = [...(await client.call('KEYS', '*')).matchAll(/^\w[^\r]*$/gm)].map(([key]) => key);
          await client.call('CLUSTER', 'MYID');
          let sum = 0;
          for (const key of keys) sum += Number((await client.call('GET', key)).split('\r\n')[1]);
          client.close();
          return sum;
        }),
      );
      expect(totals[0] + totals[1]).toBe(4000);
      expect(Math.min(...totals)).toBeGreaterThan(0);
    },
  );

  test.runIf(clusterForward === 'yes')('clients without cluster support count at any node', async () => {
    const [ioredis, ours] = [new Redis(cluster.portOf('b')), QuotadbClient.open({ port: cluster.portOf('a') })];
    for (const key of KEYS) {
      await ioredis.incr(key);
      await ours.send(['INCR', key]);
    }
    expect(await ioredis.mget(...KEYS)).toEqual(KEYS.map(() => '2'));
    ioredis.disconnect();
    await ours.close();
    await expectTotals(2);
  });
});
