import type { GroupsRow } from '../results/groups-row.js';
import type { Summary } from '../results/summary.js';
import { markdownTable } from './markdown.js';

/** The section about groups; empty where they were never measured. The rows of one run. */
export function renderGroups(rows: readonly GroupsRow[]): string[] {
  const [first] = rows;
  if (first === undefined) return [];
  return [
    '## One group and several',
    '',
    `${first.keys.toLocaleString('en-US')} keys in all, and increments of ${first.client} with ${first.connections} connections for each group, which`,
    'sends each to the owner of its key (`npx quotadb bench groups`). All servers and the client share the processors of this',
    'machine without limits, so the throughput cannot grow with the groups. The CPU time of an operation is that of all servers together,',
    `their idle time included; for one group the client runs without --cluster. Medians of ${first.throughputPerSecond.rounds.length} rounds by turns; load average ${first.loadAverage}.`,
    '',
    ...groupsTable(rows),
    '',
  ];
}

export function groupsTable(rows: readonly GroupsRow[]): string[] {
  const lines = rows.map(({ groups, pipeline, bytesPerNode, throughputPerSecond, redis, ...row }) => {
    return [
      `${groups}`,
      `${pipeline}`,
      `${(bytesPerNode.median / 1024 ** 2).toFixed(1)} MiB`,
      Math.round(throughputPerSecond.median).toLocaleString('en-US'),
      microseconds(row.serverCpuMicrosecondsPerOperation),
      redis === undefined ? 'not measured' : microseconds(redis.serverCpuMicrosecondsPerOperation),
    ];
  });
  const header = ['groups', 'pipeline', 'keys of the fullest node', 'operations/s', 'server CPU time of an operation'];
  return markdownTable([...header, 'as many masters of a Redis Cluster'], [], lines);
}

function microseconds({ median, minimum, maximum }: Summary): string {
  return `${median.toFixed(2)} µs (${minimum.toFixed(2)} to ${maximum.toFixed(2)})`;
}
