import { expect, test } from 'vitest';
import { describeMachine } from '../machine/describe.js';
import type { AvailabilityRow } from '../results/availability-row.js';
import type { GroupsRow } from '../results/groups-row.js';
import { summaryOf } from '../results/summary.js';
import { renderAvailability } from './availability.js';
import { renderGroups } from './groups.js';

const stamp = { format: 1, date: '2026-01-02T03:04:05.678Z', commit: '0123456789', uncommittedChanges: false } as const;

const kills: AvailabilityRow = {
  ...stamp,
  machine: describeMachine(),
  loadAverage: 3,
  side: 'QuotaDB',
  version: '1.0.0',
  servers: 2,
  clients: 8,
  longestGapsMs: [100, 1300, 200],
  medianGapsMs: [50, 60, 70],
  acknowledgedWrites: 12_345,
  lostWrites: 0,
  failedWrites: 7,
};

const groups: GroupsRow = {
  ...stamp,
  machine: describeMachine(),
  loadAverage: 3,
  groups: 2,
  keys: 1000,
  client: 'redis-benchmark --cluster',
  pipeline: 16,
  connections: 20,
  bytesPerNode: summaryOf([1024 * 1024]),
  throughputPerSecond: summaryOf([100_000]),
  serverCpuMicrosecondsPerOperation: summaryOf([1, 2, 3]),
};

test('of every side the newest kills are shown: the median and the worst, and in bold what was lost', () => {
  const lines = renderAvailability([
    { ...kills, lostWrites: 5 },
    kills,
    { ...kills, side: 'Redis Cluster', lostWrites: 12 },
  ]).join('\n');
  expect(lines).toContain('| QuotaDB (1.0.0) | 200 ms | 1,300 ms | 60 ms | 0 | 12,345 | 7 | 3 |');
  expect(lines).toContain('| Redis Cluster (1.0.0) | 200 ms | 1,300 ms | 60 ms | **12** | 12,345 | 7 | 3 |');
  expect(lines).not.toContain('**5**');
});

test('groups are shown with the memory of a node and the cost of an operation', () => {
  expect(renderGroups([groups]).join('\n')).toContain('| 2 | 16 | 1.0 MiB | 100,000 | 2.00 µs (1.00 to 3.00) |');
});

test('a report without kills and groups has no sections about them', () => {
  expect([...renderAvailability([]), ...renderGroups([])]).toEqual([]);
});
