import type { Fact, PeerFigures, ReplicationFigures, Snapshot, TrafficFigures } from '@quotadb/dashboard';
import type { Engine } from '@quotadb/engine';
import { addFigures, type Figures } from '../lanes/figures.js';
import type { ServerState } from '../server-state.js';
import { DURATION_BUCKETS } from '../statistics/duration-buckets.js';
import type { SlowCommand } from '../statistics/slowlog.js';

export interface SnapshotSource {
  readonly state: ServerState;
  readonly engine: Engine;
  readonly figures: () => Promise<readonly Figures[]>;
  readonly slowCommands: () => Promise<readonly (readonly SlowCommand[])[]>;
}

/** As many slow commands as a person looks at. */
const SLOW_COMMANDS = 50;

/** Makes snapshots, one after another: some figures are what happened since the one before. */
export class SnapshotTaker {
  private readonly source: SnapshotSource;
  private before: { readonly atMs: number; readonly figures: Figures } | undefined = undefined;

  constructor(source: SnapshotSource) {
    this.source = source;
  }

  async take(): Promise<Snapshot> {
    const { state, engine } = this.source;
    const { identity, config, clock } = state;
    const [lanes, slow] = await Promise.all([this.source.figures(), this.source.slowCommands()]);
    const atMs = clock.now();
    const { usedBytes, maxMemoryBytes, keys, keysWithExpiry } = engine.stats();
    return {
      atMs,
      server: {
        region: config.region,
        version: identity.version,
        transport: identity.transport,
        lanes: identity.laneCount,
        uptimeSeconds: (atMs - identity.startedAtMs) / 1000,
        processId: identity.processId,
      },
      traffic: this.traffic(lanes, atMs),
      memory: { usedBytes, maximumBytes: maxMemoryBytes, keys, keysWithExpiry },
      replication: replicationFigures(state),
      persistence: persistenceFacts(state),
      slowCommands: slow
        .flat()
        .sort((one, other) => other.id - one.id)
        .slice(0, SLOW_COMMANDS)
        .map(({ id, atSeconds, microseconds, words, address }) => ({
          id,
          atMs: atSeconds * 1000,
          microseconds,
          command: words.map((word) => Buffer.from(word).toString('utf8')).join(' '),
          client: address,
        })),
      quotas: null,
    };
  }

  private traffic(lanes: readonly Figures[], atMs: number): TrafficFigures {
    if (lanes.length === 0) return NO_TRAFFIC;
    const figures = addFigures(lanes);
    const before = this.before;
    this.before = { atMs, figures };
    const since = before === undefined ? undefined : differences(figures.durations, before.figures.durations);
    const passedSeconds = before === undefined ? 0 : (atMs - before.atMs) / 1000;
    const commands = figures.sums.commandsProcessed;
    return {
      commandsTotal: commands,
      commandsPerSecond:
        before === undefined || passedSeconds <= 0
          ? figures.sums.operationsPerSecond
          : Math.max(0, commands - before.figures.sums.commandsProcessed) / passedSeconds,
      connections: figures.sums.connections,
      p50Microseconds: since === undefined ? null : quantile(since, 0.5),
      p99Microseconds: since === undefined ? null : quantile(since, 0.99),
      longestTurnMicroseconds: Math.max(...figures.lanes.map((lane) => lane.recentLongestTurnMicroseconds)),
    };
  }
}

const NO_TRAFFIC: TrafficFigures = {
  commandsTotal: 0,
  commandsPerSecond: 0,
  connections: 0,
  p50Microseconds: null,
  p99Microseconds: null,
  longestTurnMicroseconds: 0,
};

function differences(now: Float64Array, before: Float64Array): Float64Array {
  return now.map((value, index) => value - before[index]);
}

/** Of the durations of all commands together: the upper bound of the bucket that the quantile lies in. */
function quantile(durations: Float64Array, share: number): number | null {
  const buckets = new Float64Array(DURATION_BUCKETS);
  for (const [index, count] of durations.entries()) buckets[index % DURATION_BUCKETS] += count;
  const total = buckets.reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  let seen = 0;
  for (const [bucket, count] of buckets.entries()) {
    seen += count;
    if (seen >= total * share) return 2 ** bucket;
  }
  return 2 ** (DURATION_BUCKETS - 1);
}

function replicationFigures({ replication }: ServerState): ReplicationFigures | null {
  const description = replication.describe();
  if (description === undefined || description.peers.length === 0) return null;
  const ages = new Map(replication.ages().map(({ region, ageMs }) => [region, ageMs]));
  return {
    cluster: description.cluster,
    peers: description.peers.map(
      ({ figures, ...peer }): PeerFigures => ({
        region: peer.region,
        address: peer.address,
        state: peer.state,
        roundTripMs: peer.roundTripMs,
        skewMs: peer.skewMs,
        lagMs: peer.lagMs,
        ageMs: ages.get(peer.region) ?? -1,
        bytesIn: figures.bytesIn,
        bytesOut: figures.bytesOut,
        batchesIn: figures.batchesIn,
        batchesOut: figures.batchesOut,
        repairs: figures.rangesCompared,
        joinedPercent: peer.joinedPercent,
        trouble: peer.trouble,
      }),
    ),
  };
}

function persistenceFacts({ disk, config }: ServerState): readonly Fact[] | null {
  if (!disk.isOn) return null;
  const { board } = disk;
  const figures = board.figures();
  return [
    { name: 'State', value: board.isFailed ? 'the disk does not take what it is given' : 'fine' },
    { name: 'Synced', value: config.fsync === 'always' ? 'before every reply' : `--fsync ${config.fsync}` },
    { name: 'Log since the last snapshot', value: `${figures.logBytes} bytes` },
    { name: 'Last snapshot', value: `${figures.snapshotBytes} bytes, ${new Date(figures.lastSaveMs).toISOString()}` },
    { name: 'Last flush took', value: `${figures.lastFlushMs.toFixed(2)} ms` },
    { name: 'Flushes', value: String(figures.flushesTotal) },
    { name: 'Flushes that were late', value: String(figures.lateFlushesTotal) },
    { name: 'Written in all', value: `${figures.writtenBytesTotal} bytes` },
  ];
}
