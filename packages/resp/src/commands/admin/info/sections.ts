import { arch, release, totalmem, type } from 'node:os';
import { QUOTADB_VERSION, REDIS_VERSION } from '@quotadb/config';
import { humanBytes } from '@quotadb/wire';
import type { PeerDescription } from '../../../services/replication-description.js';
import type { Call } from '../../../session/command.js';
import type { Figures } from '../../../statistics/figures.js';
import { processMemory } from '../../../statistics/process-memory.js';
import { ratio } from './format.js';

/** The sections of INFO, in Redis's order and under Redis's names; QuotaDB's own lines begin with `quotadb_`. */
export interface InfoSection {
  readonly name: string;
  readonly title: string;
  /** Part of INFO without arguments. */
  readonly usual: boolean;
  readonly lines: (call: Call, figures: Figures) => Iterable<readonly [name: string, value: string | number]>;
}

const SECONDS_PER_DAY = 86_400;
const NO_REPLICATION_ID = '0'.repeat(40);

export const infoSections: readonly InfoSection[] = [
  { name: 'server', title: 'Server', usual: true, lines: serverLines },
  { name: 'clients', title: 'Clients', usual: true, lines: clientLines },
  { name: 'memory', title: 'Memory', usual: true, lines: memoryLines },
  { name: 'persistence', title: 'Persistence', usual: true, lines: persistenceLines },
  { name: 'stats', title: 'Stats', usual: true, lines: statisticsLines },
  { name: 'replication', title: 'Replication', usual: true, lines: replicationLines },
  { name: 'cpu', title: 'CPU', usual: true, lines: processorLines },
  { name: 'modules', title: 'Modules', usual: true, lines: () => [] },
  { name: 'commandstats', title: 'Commandstats', usual: false, lines: commandLines },
  { name: 'errorstats', title: 'Errorstats', usual: true, lines: errorLines },
  {
    name: 'cluster',
    title: 'Cluster',
    usual: true,
    lines: ({ server }) => [['cluster_enabled', server.cluster === undefined ? 0 : 1]],
  },
  { name: 'keyspace', title: 'Keyspace', usual: true, lines: keyspaceLines },
];

function* serverLines({ server }: Call) {
  const { identity, config, clock } = server;
  const nowMs = clock.now();
  const uptimeSeconds = Math.max(Math.floor((nowMs - identity.startedAtMs) / 1000), 0);
  yield ['redis_version', REDIS_VERSION] as const;
  yield ['server_name', 'quotadb'] as const;
  yield ['quotadb_version', QUOTADB_VERSION] as const;
  yield ['quotadb_region', config.region] as const;
  yield ['quotadb_member', config.member] as const;
  yield ['redis_mode', server.cluster === undefined ? 'standalone' : 'cluster'] as const;
  yield ['os', `${type()} ${release()} ${arch()}`] as const;
  yield ['arch_bits', 64] as const;
  yield ['multiplexing_api', identity.transport] as const;
  yield ['quotadb_lanes', identity.laneCount] as const;
  yield ['process_id', identity.processId] as const;
  yield ['run_id', identity.runId] as const;
  yield ['tcp_port', identity.respPort] as const;
  yield ['server_time_usec', Math.round(nowMs * 1000)] as const;
  yield ['uptime_in_seconds', uptimeSeconds] as const;
  yield ['uptime_in_days', Math.floor(uptimeSeconds / SECONDS_PER_DAY)] as const;
  yield ['hz', 10] as const;
  yield ['executable', process.execPath] as const;
  yield ['config_file', ''] as const;
}

function* clientLines({ server }: Call, { sums, largestInputBytes, largestOutputBytes, lanes }: Figures) {
  yield ['connected_clients', sums.connections] as const;
  yield ['cluster_connections', 0] as const;
  yield ['maxclients', server.config.maxClients] as const;
  yield ['client_recent_max_input_buffer', largestInputBytes] as const;
  yield ['client_recent_max_output_buffer', largestOutputBytes] as const;
  yield ['blocked_clients', sums.blocked] as const;
  yield ['tracking_clients', 0] as const;
  for (const { lane, connections, commandsProcessed } of [...lanes].sort((a, b) => a.lane - b.lane)) {
    yield [`quotadb_lane_${lane}`, `connections=${connections},commands=${commandsProcessed}`] as const;
  }
}

function* memoryLines({ engine, server }: Call, { peakUsedBytes }: Figures) {
  const { usedBytes, maxMemoryBytes, longestBucket, largestShard } = engine.stats();
  const peak = Math.max(peakUsedBytes, usedBytes);
  const { residentBytes, heapUsedBytes } = processMemory();
  yield ['used_memory', usedBytes] as const;
  yield ['used_memory_human', humanBytes(usedBytes)] as const;
  yield ['used_memory_rss', residentBytes] as const;
  yield ['used_memory_rss_human', humanBytes(residentBytes)] as const;
  yield ['used_memory_peak', peak] as const;
  yield ['used_memory_peak_human', humanBytes(peak)] as const;
  yield ['used_memory_peak_perc', `${ratio(usedBytes * 100, peak)}%`] as const;
  yield ['used_memory_dataset', usedBytes] as const;
  yield ['total_system_memory', totalmem()] as const;
  yield ['total_system_memory_human', humanBytes(totalmem())] as const;
  const { scripts, bytes } = server.scripts.board.figures();
  yield ['used_memory_scripts_eval', bytes] as const;
  yield ['number_of_cached_scripts', scripts] as const;
  yield ['number_of_functions', 0] as const;
  yield ['number_of_libraries', 0] as const;
  yield ['used_memory_scripts', bytes] as const;
  yield ['used_memory_scripts_human', humanBytes(bytes)] as const;
  yield ['maxmemory', maxMemoryBytes] as const;
  yield ['maxmemory_human', humanBytes(maxMemoryBytes)] as const;
  yield ['maxmemory_policy', 'noeviction'] as const;
  yield ['mem_fragmentation_ratio', ratio(residentBytes, usedBytes)] as const;
  yield ['mem_allocator', 'quotadb'] as const;
  yield ['quotadb_heap_used', heapUsedBytes] as const;
  yield ['quotadb_longest_bucket', longestBucket] as const;
  yield ['quotadb_largest_shard', largestShard] as const;
}

function* persistenceLines({ server }: Call) {
  const { disk, config, identity } = server;
  const { board } = disk;
  const figures = board.figures();
  const lastSaveMs = disk.isOn ? figures.lastSaveMs : identity.startedAtMs;
  const written = board.isFailed ? 'err' : 'ok';
  yield ['loading', 0] as const;
  yield ['async_loading', 0] as const;
  yield ['rdb_changes_since_last_save', 0] as const;
  yield ['rdb_bgsave_in_progress', board.isSnapshotting ? 1 : 0] as const;
  yield ['rdb_last_save_time', Math.floor(lastSaveMs / 1000)] as const;
  yield ['rdb_last_bgsave_status', board.lastSnapshotFailed ? 'err' : 'ok'] as const;
  yield [
    'rdb_last_bgsave_time_sec',
    figures.lastSnapshotMs > 0 ? Math.round(figures.lastSnapshotMs / 1000) : -1,
  ] as const;
  yield ['aof_enabled', disk.isOn ? 1 : 0] as const;
  yield ['aof_rewrite_in_progress', board.isSnapshotting ? 1 : 0] as const;
  yield ['aof_last_bgrewrite_status', board.lastSnapshotFailed ? 'err' : 'ok'] as const;
  yield ['aof_last_write_status', written] as const;
  if (!disk.isOn) return;
  yield ['aof_current_size', figures.logBytes] as const;
  yield ['aof_base_size', figures.snapshotBytes] as const;
  yield ['aof_delayed_fsync', figures.lateFlushesTotal] as const;
  yield ['quotadb_data_directory', config.dataDirectory] as const;
  yield ['quotadb_fsync', config.fsync] as const;
  yield ['quotadb_writes_refused', disk.refusesWrites ? 1 : 0] as const;
  yield ['quotadb_log_bytes_written', figures.writtenBytesTotal] as const;
  yield ['quotadb_flushes', figures.flushesTotal] as const;
  yield ['quotadb_fsyncs', figures.syncsTotal] as const;
  yield ['quotadb_last_flush_msec', figures.lastFlushMs.toFixed(3)] as const;
}

function* statisticsLines({ engine }: Call, { sums, ...longest }: Figures) {
  yield ['total_connections_received', sums.connectionsReceived] as const;
  yield ['total_commands_processed', sums.commandsProcessed] as const;
  yield ['instantaneous_ops_per_sec', Math.round(sums.operationsPerSecond)] as const;
  yield ['total_net_input_bytes', sums.inputBytes] as const;
  yield ['total_net_output_bytes', sums.outputBytes] as const;
  yield ['instantaneous_input_kbps', (sums.inputBytesPerSecond / 1024).toFixed(2)] as const;
  yield ['instantaneous_output_kbps', (sums.outputBytesPerSecond / 1024).toFixed(2)] as const;
  yield ['rejected_connections', sums.connectionsRejected] as const;
  yield ['expired_keys', engine.stats().expiredKeysTotal] as const;
  yield ['expire_cycle_cpu_milliseconds', Math.round(sums.expiryMicroseconds / 1000)] as const;
  yield ['evicted_keys', 0] as const;
  yield ['evicted_clients', 0] as const;
  yield ['keyspace_hits', sums.keyspaceHits] as const;
  yield ['keyspace_misses', sums.keyspaceMisses] as const;
  yield ['pubsub_channels', 0] as const;
  yield ['pubsub_patterns', 0] as const;
  yield ['total_error_replies', sums.errorReplies] as const;
  yield ['total_reads_processed', sums.readsProcessed] as const;
  yield ['total_writes_processed', sums.writesProcessed] as const;
  yield ['client_query_buffer_limit_disconnections', sums.queryLimitDisconnections] as const;
  yield ['client_output_buffer_limit_disconnections', sums.outputLimitDisconnections] as const;
  yield ['quotadb_longest_turn_usec', Math.round(longest.longestTurnMicroseconds)] as const;
  yield ['quotadb_longest_turn_cpu_usec', Math.round(longest.longestTurnProcessorMicroseconds)] as const;
}

function* replicationLines({ server }: Call) {
  const description = server.replication.describe();
  const peers = description?.peers ?? [];
  yield ['role', 'master'] as const;
  yield ['connected_slaves', peers.filter(({ state }) => state === 'connected').length] as const;
  yield ['master_failover_state', 'no-failover'] as const;
  yield ['master_replid', server.identity.runId] as const;
  yield ['master_replid2', NO_REPLICATION_ID] as const;
  yield ['master_repl_offset', 0] as const;
  yield ['second_repl_offset', -1] as const;
  yield ['repl_backlog_active', 0] as const;
  if (description === undefined) return;
  yield ['quotadb_cluster', description.cluster] as const;
  yield ['quotadb_replica_id', description.replicaId] as const;
  yield ['quotadb_incarnation', description.incarnation] as const;
  yield ['quotadb_old_copy', description.oldCopy] as const;
  yield ['quotadb_repl_port', description.port] as const;
  yield ['quotadb_repl_tls', description.isEncrypted ? 1 : 0] as const;
  yield ['quotadb_repl_faults', description.faults] as const;
  yield ['quotadb_repl_refused', fields(description.refusals)] as const;
  for (const peer of peers) yield [`quotadb_peer_${peer.region}`, peerFields(peer)] as const;
  for (const { region, ageMs } of server.replication.ages()) {
    yield [`quotadb_age_ms_${region}`, ageMs === undefined ? -1 : Math.round(ageMs)] as const;
  }
}

function peerFields({ figures, trouble, ...peer }: PeerDescription): string {
  const { bytesIn, bytesOut, batchesIn, batchesOut, componentsIn, componentsOut } = figures;
  const { componentsResent, componentsDropped } = figures;
  return fields({
    state: peer.state,
    address: peer.address,
    configured: peer.isConfigured ? 1 : 0,
    rtt_ms: peer.roundTripMs,
    skew_ms: peer.skewMs,
    lag_ms: peer.lagMs,
    lag_versions: peer.lagVersions,
    lag_shards: peer.lagShards,
    joined_percent: peer.joinedPercent,
    bytes_in: bytesIn,
    bytes_out: bytesOut,
    batches_in: batchesIn,
    batches_out: batchesOut,
    components_in: componentsIn,
    components_out: componentsOut,
    gaps: figures.gaps,
    ahead: figures.framesAhead,
    digests_compared: figures.digestsCompared,
    digest_mismatches: figures.digestMismatches,
    repairs: componentsResent + componentsDropped,
    connections: figures.connections,
    refused: figures.refusals,
    trouble: trouble.replaceAll(/[,\r\n]/g, ';'),
  });
}

function fields(values: Readonly<Record<string, string | number>>): string {
  return Object.entries(values)
    .map(([name, value]) => `${name}=${value}`)
    .join(',');
}

function* processorLines(_: Call) {
  const { system, user } = process.cpuUsage();
  yield ['used_cpu_sys', (system / 1e6).toFixed(6)] as const;
  yield ['used_cpu_user', (user / 1e6).toFixed(6)] as const;
  yield ['used_cpu_sys_children', '0.000000'] as const;
  yield ['used_cpu_user_children', '0.000000'] as const;
}

function* commandLines({ server }: Call, { calls, microseconds, rejected, failed }: Figures) {
  for (const { id, fullName } of server.commands.entries) {
    if (calls[id] === 0 && rejected[id] === 0) continue;
    const total = Math.round(microseconds[id]);
    const fields = [
      `calls=${calls[id]}`,
      `usec=${total}`,
      `usec_per_call=${ratio(microseconds[id], calls[id])}`,
      `rejected_calls=${rejected[id]}`,
      `failed_calls=${failed[id]}`,
    ];
    yield [`cmdstat_${fullName}`, fields.join(',')] as const;
  }
}

function* errorLines(_: Call, { errors }: Figures) {
  for (const [code, count] of errors) yield [`errorstat_${code}`, `count=${count}`] as const;
}

function* keyspaceLines({ engine, server }: Call) {
  for (let database = 0; database < server.config.databases; database++) {
    const { keys, keysWithExpiry } = engine.databaseStats(database);
    if (keys > 0) yield [`db${database}`, `keys=${keys},expires=${keysWithExpiry},avg_ttl=0`] as const;
  }
}
