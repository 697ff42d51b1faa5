import type { ClusterFigures } from '@quotadb/dashboard';
import { expect, test } from 'vitest';
import { formatCluster, isClusterFailing, readClusterStatus } from './cluster-status.js';

const member = { address: '10.0.0.1:6380', state: 'reachable', revision: 4 } as const;
const CLUSTER: ClusterFigures = {
  ...{ revision: 4, revisions: 2, group: 'red', unassignedSlots: 384, isPaused: true },
  groups: [
    {
      ...{ name: 'blue', isOwn: false, slots: 8192, ranges: [[0, 8191]], policies: 'different', trouble: 'here: x' },
      members: [{ ...member, name: 'eu' }],
    },
    {
      ...{ name: 'red', isOwn: true, slots: 7808, ranges: [[8192, 15_999]], policies: null, trouble: '' },
      members: [
        { ...member, name: 'eu/a', state: 'here' },
        { ...member, name: 'eu/b', state: 'unreachable', revision: null },
      ],
    },
  ],
  moves: [{ from: 'blue', to: 'red', slots: 1000, ranges: [[90, 1089]], heldSlots: 2 }],
};

test('status shows the groups of a cluster, their slots and members, moves, and what is wrong', () => {
  expect(formatCluster('here', readClusterStatus(JSON.stringify(CLUSTER)) as ClusterFigures)).toEqual([
    'here: group red, revision 4 of the cluster map',
    `0 [${'A'.repeat(32)}${'B'.repeat(31)}.] 16383`,
    '   group  slots              member  address        state        map  policies',
    'A  blue   8,192: 0-8191      eu      10.0.0.1:6380  reachable    4    different',
    'B  red    7,808: 8192-15999  eu/a    10.0.0.1:6380  here         4',
    '                             eu/b    10.0.0.1:6380  unreachable',
    'moving 1,000 slots from blue to red, 2 held, paused',
    '384 slots are of no group',
    'members know different revisions of the map',
    'policies of the group blue differ: here: x',
  ]);
  expect(isClusterFailing(CLUSTER)).toBe(true);
  expect(isClusterFailing({ ...CLUSTER, unassignedSlots: 0 })).toBe(false);
  expect(readClusterStatus('')).toBeUndefined();
});
