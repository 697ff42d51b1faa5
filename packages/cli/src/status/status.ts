import type { ClusterFigures } from '@quotadb/dashboard';
import { briefDuration, humanBytes, serverName } from '@quotadb/wire';
import { alignColumns } from '../terminal/table.js';
import { formatCluster } from './cluster-status.js';
import { Info } from './info.js';

/** One server at a glance. */
export interface Status {
  readonly server: string;
  readonly state: 'up' | 'refused' | 'down';
  /** Why it is not up. */
  readonly reason?: string;
  readonly version?: string;
  readonly region?: string;
  readonly uptimeSeconds?: number;
  readonly transport?: string;
  readonly lanes?: number;
  readonly connections?: number;
  readonly operationsPerSecond?: number;
  readonly keys?: number;
  readonly memoryUsedBytes?: number;
  readonly memoryMaximumBytes?: number;
  readonly longestTurnMs?: number;
  readonly disk?: 'memory only' | 'ok' | 'failing';
  readonly refusedConnections?: number;
  readonly errorReplies?: number;
  readonly peers?: Readonly<Record<string, PeerStatus>>;
  /** Where it has a cluster map. */
  readonly cluster?: ClusterFigures;
}

/** Another region, as this server sees it. Figures that it does not know yet are null. */
export interface PeerStatus {
  readonly state: string;
  readonly address: string;
  readonly roundTripMs: number | null;
  readonly lagMs: number | null;
  readonly lagVersions: number | null;
  readonly trouble?: string;
}

/** `text` is that of INFO, `cluster` what CLUSTER STATUS says. */
export function readStatus(server: string, text: string, cluster?: ClusterFigures): Status {
  const info = new Info(text);
  const hasDisk = info.text('aof_enabled') === '1';
  return {
    server,
    state: 'up',
    version: info.text('quotadb_version') || `redis ${info.text('redis_version')}`,
    region: serverName({ region: info.text('quotadb_region'), member: info.text('quotadb_member') }),
    uptimeSeconds: info.number('uptime_in_seconds'),
    transport: info.text('multiplexing_api'),
    lanes: info.number('quotadb_lanes') || 1,
    connections: info.number('connected_clients'),
    operationsPerSecond: info.number('instantaneous_ops_per_sec'),
    keys: info.field('db0', 'keys'),
    memoryUsedBytes: info.number('used_memory'),
    memoryMaximumBytes: info.number('maxmemory'),
    longestTurnMs: info.number('quotadb_longest_turn_usec') / 1000,
    disk: !hasDisk ? 'memory only' : info.text('aof_last_write_status') === 'ok' ? 'ok' : 'failing',
    refusedConnections: info.number('rejected_connections'),
    errorReplies: info.number('total_error_replies'),
    peers: Object.fromEntries(
      [...info.startingWith('quotadb_peer_')].map(([peer, fields]) => [peer, readPeer(fields)]),
    ),
    ...(cluster && { cluster }),
  };
}

/** `state=connected,rtt_ms=1,lag_ms=3,…`; -1 stands for a figure that is not known. */
function readPeer(fields: string): PeerStatus {
  const values = new Map(
    fields.split(',').map((field) => {
      const equals = field.indexOf('=');
      return [field.slice(0, equals), field.slice(equals + 1)] as const;
    }),
  );
  const figure = (name: string): number | null => {
    const value = Number.parseFloat(values.get(name) ?? '-1');
    return value >= 0 ? value : null;
  };
  const trouble = values.get('trouble') ?? '';
  return {
    state: values.get('state') ?? '?',
    address: values.get('address') ?? '',
    roundTripMs: figure('rtt_ms'),
    lagMs: figure('lag_ms'),
    lagVersions: figure('lag_versions'),
    ...(trouble !== '' && { trouble }),
  };
}

export function describePeer({ state, roundTripMs, lagMs, lagVersions, trouble }: PeerStatus): string {
  // In step the lag is the round trip, which is shown already.
  const isInStep = state === 'connected' && lagVersions === 0;
  return [
    state,
    ...(roundTripMs === null ? [] : [`round trip ${roundTripMs} ms`]),
    ...(isInStep ? ['in step'] : lagMs === null ? [] : [`behind ${lagMs} ms`]),
    ...(trouble === undefined ? [] : [trouble]),
  ].join(', ');
}

type Column = readonly [title: string, cell: (status: Status) => string];

const COLUMNS: readonly Column[] = [
  ['server', ({ server }) => server],
  ['state', ({ state }) => state],
  ['region', ({ region }) => region ?? ''],
  ['up for', ({ uptimeSeconds }) => (uptimeSeconds === undefined ? '' : briefDuration(uptimeSeconds))],
  ['lanes', ({ transport, lanes }) => (transport === undefined ? '' : `${lanes} ${transport}`)],
  ['clients', ({ connections }) => count(connections)],
  ['commands/s', ({ operationsPerSecond }) => count(operationsPerSecond)],
  ['keys', ({ keys }) => count(keys)],
  ['memory', memory],
  ['disk', ({ disk }) => disk ?? ''],
  ['longest turn', ({ longestTurnMs }) => (longestTurnMs === undefined ? '' : `${longestTurnMs.toFixed(1)} ms`)],
];

/** Columns that a narrow terminal leaves out, in this order. */
const SPARE_COLUMNS = ['longest turn', 'lanes', 'up for', 'region', 'memory'];

/** A table with a row for each server; below it, refusals, the state of peers, and clusters. */
export function formatStatus(statuses: readonly Status[], terminalColumns = Number.POSITIVE_INFINITY): string {
  const columns = [...COLUMNS];
  const widthOf = ([title, cell]: Column): number => Math.max(title.length, ...statuses.map((one) => cell(one).length));
  for (const spare of SPARE_COLUMNS) {
    const width = columns.reduce((sum, column) => sum + widthOf(column) + 2, -2);
    if (width > terminalColumns)
      columns.splice(
        columns.findIndex(([title]) => title === spare),
        1,
      );
  }
  const rows = [columns.map(([title]) => title), ...statuses.map((status) => columns.map(([, cell]) => cell(status)))];
  const lines = alignColumns(rows);
  const notes = statuses.flatMap(({ server, reason, refusedConnections, peers }) => [
    ...(reason === undefined ? [] : [`${server}: ${reason}`]),
    ...((refusedConnections ?? 0) > 0 ? [`${server}: ${refusedConnections} connections refused so far`] : []),
    ...Object.entries(peers ?? {}).map(([peer, status]) => `${server} → ${peer}: ${describePeer(status)}`),
  ]);
  const clusters = statuses.flatMap(({ server, cluster }) =>
    cluster === undefined ? [] : ['', ...formatCluster(server, cluster)],
  );
  return [...lines, ...(notes.length > 0 ? ['', ...notes] : []), ...clusters].join('\n');
}

function memory({ memoryUsedBytes, memoryMaximumBytes }: Status): string {
  if (memoryUsedBytes === undefined || memoryMaximumBytes === undefined) return '';
  const percent = memoryMaximumBytes > 0 ? Math.round((memoryUsedBytes * 100) / memoryMaximumBytes) : 0;
  return `${humanBytes(memoryUsedBytes)} of ${humanBytes(memoryMaximumBytes)} (${percent}%)`;
}

function count(value: number | undefined): string {
  return value === undefined ? '' : value.toLocaleString('en');
}
