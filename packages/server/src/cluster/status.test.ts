import { ClusterMap, SLOT_COUNT, UNASSIGNED } from '@quotadb/cluster';
import { afterEach, expect, test, vi } from 'vitest';
import { TestClient, TestCluster } from '../testing/index.js';
import { ClusterStatus } from './status.js';

let cluster: TestCluster | undefined;

afterEach(async () => {
  await cluster?.remove();
  cluster = undefined;
});

test('groups, slots and moves of a map are described, with members that have not been asked yet', () => {
  const member = (group: string, name: string) => ({
    ...{ group, region: 'eu', name, host: '10.0.0.1', port: 6380 + name.length, tlsPort: undefined },
  });
  const groups = [
    { name: 'blue', members: [member('blue', '')] },
    { name: 'red', members: [member('red', 'a'), member('red', 'bb')] },
  ];
  const owners = new Uint8Array(SLOT_COUNT).fill(1).fill(0, 0, 100).fill(UNASSIGNED, 16_000);
  const moves = [
    { from: 'blue', to: 'red', slots: [{ first: 90, last: 99 }], held: [{ first: 90, last: 91 }], left: [] },
  ];
  const map = new ClusterMap(4, groups, owners, moves, true);
  const status = new ClusterStatus({
    config: { group: 'red', region: 'eu', member: 'a' },
    map: () => map,
    ask: () => Promise.reject(new Error('nobody is asked')),
    policies: () => [{ group: 'blue', state: 'different', reason: 'here: x' }],
  });
  expect(status.describe()).toEqual({
    revision: 4,
    revisions: 1,
    group: 'red',
    unassignedSlots: 384,
    isPaused: true,
    groups: [
      {
        ...{ name: 'blue', isOwn: false, slots: 100, ranges: [[0, 99]], policies: 'different', trouble: 'here: x' },
        members: [{ name: 'eu', address: '10.0.0.1:6380', state: 'unknown', revision: null }],
      },
      {
        ...{ name: 'red', isOwn: true, slots: 15_900, ranges: [[100, 15_999]], policies: null, trouble: '' },
        members: [
          { name: 'eu/a', address: '10.0.0.1:6381', state: 'here', revision: 4 },
          { name: 'eu/bb', address: '10.0.0.1:6382', state: 'unknown', revision: null },
        ],
      },
    ],
    moves: [{ from: 'blue', to: 'red', slots: 10, ranges: [[90, 99]], heldSlots: 2 }],
  });
});

test('a running server says which members answer and which revision each knows, in CLUSTER STATUS and metrics', async () => {
  const running = await TestCluster.prepare('a', 'b/one', 'b/two');
  cluster = running;
  const groups = { a: { slots: '0-8191' }, b: { slots: '8192-16000', members: ['one', 'two'] } };
  await running.give(running.map(1, groups), 'b/one');
  await running.give(running.map(2, groups), 'a');
  await Promise.all([running.start('a'), running.start('b/one')]);
  const client = await TestClient.open(running.portOf('a'));
  await vi.waitFor(
    async () => {
      const reply = await client.call('CLUSTER', 'STATUS');
      const { revision, revisions, groups } = JSON.parse(reply.slice(reply.indexOf('\n') + 1));
      expect([revision, revisions]).toEqual([2, 2]);
      expect(groups[1].members).toMatchObject([
        { name: 'local/one', state: 'reachable', revision: 1 },
        { name: 'local/two', state: 'unreachable', revision: null },
      ]);
    },
    { timeout: 20_000, interval: 50 },
  );
  client.close();
  const metrics = (await running.servers.get('a')?.server.metrics.render()) ?? '';
  expect(metrics).toContain('quotadb_cluster_member_up{group="b",member="local/one"} 1');
  expect(metrics).toContain('quotadb_cluster_member_up{group="b",member="local/two"} 0');
  expect(metrics).toContain('quotadb_cluster_revisions 2');
  expect(metrics).toContain('quotadb_cluster_unassigned_slots 383');
});
