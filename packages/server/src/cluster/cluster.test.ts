import { afterEach, expect, test } from 'vitest';
import { startTwoGroups, type TestCluster } from '../testing/index.js';

// Slots: b 3300 and c 7365 are of group a; a 15495 and foo 12182 of group b.
let cluster: TestCluster;

afterEach(() => cluster?.remove());

test('a client without cluster support counts at any node: the keys are where they belong, once', async () => {
  cluster = await startTwoGroups();
  const [one, other] = [await cluster.client('a'), await cluster.client('b')];
  const keys = Array.from({ length: 40 }, (_, at) => `key:${at}`);
  for (const key of keys) {
    expect(await one.call('INCR', key)).toBe(':1\r\n');
    expect(await other.call('INCRBY', key, 2)).toBe(':3\r\n');
  }
  expect(await one.call('MGET', ...keys)).toBe(`*40\r\n${'$1\r\n3\r\n'.repeat(40)}`);
  expect(await other.call('EXISTS', ...keys, 'none')).toBe(':40\r\n');
  const sizes = await Promise.all([one.call('DBSIZE'), other.call('DBSIZE')]);
  expect(sizes.map((size) => Number(size.slice(1))).reduce((sum, size) => sum + size)).toBe(40);
  expect(sizes).not.toContain(':0\r\n');
  expect(await one.call('DEL', ...keys)).toBe(':40\r\n');
  expect(Number(await cluster.metric('a', /^quotadb_cluster_forwarded_total (\d+)$/m))).toBeGreaterThan(10);
  await expect.poll(() => cluster.metric('a', /^quotadb_cluster_nodes\{state="reachable"\} (\d+)$/m)).toBe('1');
});

test('another revision of the map moves slots that nothing is in: the group that loses them goes first', async () => {
  cluster = await startTwoGroups();
  const text = cluster.map(2, { a: { slots: '0-8000' }, b: { slots: '8001-16383' } });
  await cluster.give(text, 'b');
  await expect.poll(() => cluster.metric('b', /^quotadb_cluster_map_mistakes (\d+)$/m)).toBe('1');
  expect(await cluster.revisionOf('b')).toBe('1');
  await cluster.give(text, 'a');
  await expect.poll(() => cluster.revisionOf('a')).toBe('2');
  await expect.poll(() => cluster.revisionOf('b')).toBe('2');
  expect(await (await cluster.client('a')).call('CLUSTER', 'NODES')).toContain('8001-16383');
});
