import { bucketBoundsSeconds, DURATION_BUCKETS, type Engine } from '@quotadb/engine';
import type { ServerState } from '@quotadb/resp';
import { addFigures, type Figures } from '@quotadb/resp';
import type { LogDurations } from '@quotadb/storage';
import { counter, gauge, histogram, type MetricSource, type Sample, type Samples, samplesBy } from './metric.js';

/** Metrics of the lanes, the store and the disk. */
export const serverMetricTable = {
  quotadb_info: gauge('Version, region, transport and lanes of this server, as labels; always 1.'),
  quotadb_start_time_seconds: gauge('Time of the start, in seconds since 1970.'),
  quotadb_clock_jump_seconds: gauge(
    'How far the clock has jumped ahead of the time of this server, which does not follow it; 0 where it does.',
  ),
  quotadb_commands_total: counter('Commands run, by command.'),
  quotadb_commands_failed_total: counter('Commands that replied with an error, by command.'),
  quotadb_commands_rejected_total: counter('Commands refused before they ran, by command.'),
  quotadb_command_duration_seconds: histogram(
    'Duration of the timed commands: those of one turn in sixteen, and all that can be long.',
  ),
  quotadb_error_replies_total: counter('Error replies, by code.'),
  quotadb_slow_commands_total: counter('Commands that were slower than slowlog-log-slower-than.'),
  quotadb_slowlog_length: gauge('Slow commands kept for SLOWLOG GET.'),
  quotadb_keyspace_hits_total: counter('Reads of counters that existed.'),
  quotadb_keyspace_misses_total: counter('Reads of counters that did not exist.'),
  quotadb_connections: gauge('Clients connected, by lane.'),
  quotadb_connections_maximum: gauge('Clients that may be connected at once.'),
  quotadb_connections_received_total: counter('Connections accepted or refused.'),
  quotadb_connections_refused_total: counter('Connections refused: too many, or no proper TLS.'),
  quotadb_connections_dropped_total: counter(
    'Connections closed because a limit was passed: replies not read (output), commands too large (query).',
  ),
  quotadb_clients_blocked: gauge('Clients that wait in a command such as WAIT.'),
  quotadb_clients_buffered_bytes: gauge('Unfinished commands and unsent replies of all clients.'),
  quotadb_network_received_bytes_total: counter('Bytes read from clients.'),
  quotadb_network_sent_bytes_total: counter('Bytes sent to clients.'),
  quotadb_lane_commands_total: counter('Commands run, by lane.'),
  quotadb_lane_busy_seconds_total: counter('Time that a lane did not wait for clients.'),
  quotadb_longest_turn_seconds: gauge(
    'The longest that one turn of a loop kept everything else waiting, in the last half minute to minute.',
  ),
  quotadb_keys: gauge('Keys in the store.'),
  quotadb_keys_expiring: gauge('Keys that have an expiry.'),
  quotadb_keys_unpublished: gauge(
    'Cells of rate limits below the publish threshold: unpublished, so neither peers nor the disk hold them.',
  ),
  quotadb_keys_withheld: gauge('The former name of quotadb_keys_unpublished; the next minor release drops it.'),
  quotadb_keys_expired_total: counter('Keys dropped because they expired.'),
  quotadb_memory_used_bytes: gauge('Memory of the store in use.'),
  quotadb_memory_maximum_bytes: gauge('Memory the store may use (--max-memory).'),
  quotadb_longest_bucket_records: gauge(
    'The most records that the growing hash table has found in one bucket: about 50, unless keys collide.',
  ),
  quotadb_largest_shard_records: gauge('Records in the largest shard; clients that aim keys at one shard show here.'),
  quotadb_disk_up: gauge('1 while writes to the data directory succeed; absent without --data.'),
  quotadb_wal_bytes: gauge('Size of the log since the last snapshot.'),
  quotadb_wal_written_bytes_total: counter('Bytes written to the log.'),
  quotadb_wal_flushes_total: counter('Writes of the log.'),
  quotadb_wal_fsyncs_total: counter('Calls of fsync for the log.'),
  quotadb_wal_flushes_late_total: counter('Flushes that took longer than the interval of --fsync.'),
  quotadb_wal_flush_duration_seconds: histogram('Duration of a flush of the log, fsync included, on any thread.'),
  quotadb_wal_fsync_duration_seconds: histogram('Duration of the fsync of a flush.'),
  quotadb_snapshot_bytes: gauge('Size of the last snapshot.'),
  quotadb_snapshot_duration_seconds: gauge('Duration of the last snapshot.'),
  quotadb_snapshot_time_seconds: gauge('Time at which the last snapshot was finished, in seconds since 1970.'),
  quotadb_snapshot_failed: gauge('1 when the last snapshot failed.'),
} satisfies MetricSource['metrics'];

type Name = keyof typeof serverMetricTable;

export interface ServerMetricsOptions {
  readonly state: ServerState;
  readonly engine: Engine;
  /** The figures of every lane; empty before lanes have started. */
  readonly figures: () => Promise<readonly Figures[]>;
  /** Durations of flushes and syncs of the log; undefined without a disk, or before its data is loaded. */
  readonly disk: (() => LogDurations | undefined) | undefined;
  /** How far the system's clock has jumped ahead, while that is not followed. */
  readonly clockJumpMs: () => number;
}

export function serverMetrics(options: ServerMetricsOptions): MetricSource<Name> {
  return {
    metrics: serverMetricTable,
    async collect() {
      const figures = await options.figures();
      return {
        ...about(options),
        ...(figures.length > 0 && ofLanes(options, addFigures(figures))),
        ...ofDisk(options),
      };
    },
  };
}

function about({ state, engine, clockJumpMs }: ServerMetricsOptions): Samples<Name> {
  const { identity, config } = state;
  const { keys, keysWithExpiry, keysUnpublished, expiredKeysTotal, usedBytes, maxMemoryBytes, ...table } =
    engine.stats();
  const { version } = identity;
  const { region, member } = config;
  const labels = { version, region, member, transport: identity.transport, lanes: identity.laneCount };
  return {
    quotadb_info: [{ labels, value: 1 }],
    quotadb_start_time_seconds: identity.startedAtMs / 1000,
    quotadb_clock_jump_seconds: clockJumpMs() / 1000,
    quotadb_keys: keys,
    quotadb_keys_expiring: keysWithExpiry,
    quotadb_keys_unpublished: keysUnpublished,
    quotadb_keys_withheld: keysUnpublished,
    quotadb_keys_expired_total: expiredKeysTotal,
    quotadb_memory_used_bytes: usedBytes,
    quotadb_memory_maximum_bytes: maxMemoryBytes,
    quotadb_longest_bucket_records: table.longestBucket,
    quotadb_largest_shard_records: table.largestShard,
    quotadb_connections_maximum: config.maxClients,
  };
}

function ofLanes({ state }: ServerMetricsOptions, figures: Figures): Samples<Name> {
  const { sums, lanes } = figures;
  return {
    ...ofCommands(state, figures),
    quotadb_error_replies_total: [...figures.errors].map(([code, value]) => ({ labels: { code }, value })),
    quotadb_slow_commands_total: sums.slowCommands,
    quotadb_slowlog_length: Math.min(sums.slowlogLength, state.config.slowlogMaximumLength),
    quotadb_keyspace_hits_total: sums.keyspaceHits,
    quotadb_keyspace_misses_total: sums.keyspaceMisses,
    quotadb_connections: lanes.map(({ lane, connections }) => ({ labels: { lane }, value: connections })),
    quotadb_connections_received_total: sums.connectionsReceived,
    quotadb_connections_refused_total: sums.connectionsRejected,
    quotadb_connections_dropped_total: samplesBy('limit', {
      output: sums.outputLimitDisconnections,
      query: sums.queryLimitDisconnections,
    }),
    quotadb_clients_blocked: sums.blocked,
    quotadb_clients_buffered_bytes: sums.clientBytes,
    quotadb_network_received_bytes_total: sums.inputBytes,
    quotadb_network_sent_bytes_total: sums.outputBytes,
    quotadb_lane_commands_total: lanes.map(({ lane, commandsProcessed }) => ({
      labels: { lane },
      value: commandsProcessed,
    })),
    quotadb_lane_busy_seconds_total: lanes.map(({ lane, busyMicroseconds }) => ({
      labels: { lane },
      value: busyMicroseconds / 1e6,
    })),
    quotadb_longest_turn_seconds: lanes.map(({ lane, recentLongestTurnMicroseconds }) => ({
      labels: { lane },
      value: recentLongestTurnMicroseconds / 1e6,
    })),
  };
}

/** Commands that were never sent are left out: there are many. */
function ofCommands({ commands }: ServerState, figures: Figures): Samples<Name> {
  const { calls, failed, rejected, durations, timedMicroseconds } = figures;
  const used = commands.entries.filter(({ id }) => calls[id] > 0 || rejected[id] > 0);
  const counted = (counts: Float64Array): Sample[] =>
    used.map(({ id, fullName }) => ({ labels: { command: fullName }, value: counts[id] }));
  return {
    quotadb_commands_total: counted(calls),
    quotadb_commands_failed_total: counted(failed),
    quotadb_commands_rejected_total: counted(rejected),
    quotadb_command_duration_seconds: used.map(({ id, fullName }) => ({
      labels: { command: fullName },
      value: {
        bounds: bucketBoundsSeconds,
        counts: durations.subarray(id * DURATION_BUCKETS, (id + 1) * DURATION_BUCKETS),
        sum: timedMicroseconds[id] / 1e6,
      },
    })),
  };
}

function ofDisk({ state, disk }: ServerMetricsOptions): Samples<Name> {
  const durations = disk?.();
  if (durations === undefined) return {};
  const { flushes, flushMsTotal, syncs, syncMsTotal } = durations;
  const { board } = state.disk;
  const figures = board.figures();
  return {
    quotadb_disk_up: board.isFailed ? 0 : 1,
    quotadb_wal_bytes: figures.logBytes,
    quotadb_wal_written_bytes_total: figures.writtenBytesTotal,
    quotadb_wal_flushes_total: figures.flushesTotal,
    quotadb_wal_fsyncs_total: figures.syncsTotal,
    quotadb_wal_flushes_late_total: figures.lateFlushesTotal,
    quotadb_wal_flush_duration_seconds: [
      { value: { bounds: bucketBoundsSeconds, counts: flushes, sum: flushMsTotal / 1000 } },
    ],
    quotadb_wal_fsync_duration_seconds: [
      { value: { bounds: bucketBoundsSeconds, counts: syncs, sum: syncMsTotal / 1000 } },
    ],
    quotadb_snapshot_bytes: figures.snapshotBytes,
    quotadb_snapshot_duration_seconds: figures.lastSnapshotMs / 1000,
    quotadb_snapshot_time_seconds: figures.lastSaveMs / 1000,
    quotadb_snapshot_failed: board.lastSnapshotFailed ? 1 : 0,
  };
}
