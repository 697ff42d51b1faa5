import type { CountsFigures as ServiceFigures } from '@quotadb/counts';
import type {
  ClusterFigures,
  CountsFigures,
  DiskFigures,
  HotFigures,
  PeerFigures,
  QuotaFigures,
  ReplicationFigures,
  Snapshot,
  TokenFlow,
  TrafficFigures,
} from '@quotadb/dashboard';
import { DURATION_BUCKETS, type Engine } from '@quotadb/engine';
import type { Catalogue } from '@quotadb/limits';
import type { HotIdentifier, Hottest, ServerState, SlowCommand } from '@quotadb/resp';
import { addFigures, type Figures } from '@quotadb/resp';
import type { LogDurations } from '@quotadb/storage';
import { serverName } from '@quotadb/wire';
import type { CountsWatch } from '../metrics/counts-watch.js';
import { stateOfCounts } from '../metrics/counts-watch.js';
import type { DecisionCounts, Decisions } from '../metrics/decisions.js';
import type { QuotaService } from '../quotas/service.js';
import { limitFigures } from './limit-figures.js';

export interface SnapshotSource {
  readonly state: ServerState;
  readonly engine: Engine;
  readonly figures: () => Promise<readonly Figures[]>;
  readonly slowCommands: () => Promise<readonly (readonly SlowCommand[])[]>;
  readonly decisions: Decisions;
  readonly catalogue: () => Catalogue;
  readonly quotas: Pick<QuotaService, 'policies' | 'figures'>;
  readonly countsWatch: CountsWatch;
  /** How long flushes took; undefined without a disk, or before its data is loaded. */
  readonly disk: (() => LogDurations | undefined) | undefined;
  readonly counts: () => ServiceFigures;
  /** Undefined without a cluster map. */
  readonly cluster: () => ClusterFigures | undefined;
}

/** As many slow commands as a person looks at. */
const SLOW_COMMANDS = 50;
const HOT_IDENTIFIERS = 20;
const HOT_SUBJECTS = 8;
/** Of all quotas together, before they are sorted by quota. */
const HOT_TAKES = 400;
const QUOTAS = 100;

/** Makes snapshots, one after another: some figures are what happened since the one before. */
export class SnapshotTaker {
  private readonly source: SnapshotSource;
  private statementsBefore = new Float64Array(DURATION_BUCKETS);
  private syncsBefore: Float64Array = new Float64Array(DURATION_BUCKETS);
  private before: { readonly atMs: number; readonly figures: Figures } | undefined = undefined;

  constructor(source: SnapshotSource) {
    this.source = source;
  }

  /** For the history alone, lanes are not asked for their slow commands and busy identifiers. */
  async take(isForPages: boolean): Promise<Snapshot> {
    const { state, engine } = this.source;
    const { identity, config, clock } = state;
    const { decisions, quotas } = this.source;
    const [lanes, slow, hottest] = await Promise.all([
      this.source.figures(),
      isForPages ? this.source.slowCommands() : [],
      isForPages ? decisions.hottest(HOT_TAKES) : NO_IDENTIFIERS,
    ]);
    const decided = decisions.counts(lanes);
    const atMs = clock.now();
    const { usedBytes, maxMemoryBytes, keys, keysWithExpiry } = engine.stats();
    return {
      atMs,
      server: {
        region: serverName(config),
        version: identity.version,
        transport: identity.transport,
        lanes: identity.laneCount,
        uptimeSeconds: (atMs - identity.startedAtMs) / 1000,
        processId: identity.processId,
      },
      traffic: this.traffic(lanes, atMs),
      memory: { usedBytes, maximumBytes: maxMemoryBytes, keys, keysWithExpiry },
      replication: replicationFigures(state),
      persistence: this.disk(),
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
      rates: {
        allowedTotal: decided.ratesAllowed,
        deniedTotal: decided.ratesDenied,
        hottest: hottest.rates.slice(0, HOT_IDENTIFIERS).map(hotFigures),
      },
      limits: limitFigures(this.source.catalogue(), decided.limits, hottest.denied),
      quotas: quotaFigures(quotas, decided, hottest.takes),
      tokenFlow: tokenFlow(quotas),
      counts: this.counts(),
      cluster: this.source.cluster() ?? null,
    };
  }

  private disk(): DiskFigures | null {
    const { config, disk } = this.source.state;
    const durations = this.source.disk?.();
    if (durations === undefined) return null;
    const { board } = disk;
    const figures = board.figures();
    const since = differences(durations.syncs, this.syncsBefore);
    this.syncsBefore = durations.syncs;
    return {
      isFailed: board.isFailed,
      fsync: String(config.fsync),
      logBytes: figures.logBytes,
      snapshotBytes: figures.snapshotBytes,
      snapshotAtMs: figures.lastSaveMs,
      isSnapshotting: board.isSnapshotting,
      hasSnapshotFailed: board.lastSnapshotFailed,
      writtenBytesTotal: figures.writtenBytesTotal,
      flushesTotal: figures.flushesTotal,
      flushesLateTotal: figures.lateFlushesTotal,
      syncsTotal: figures.syncsTotal,
      lastFlushMs: figures.lastFlushMs,
      syncP99Microseconds: quantile(since, 0.99),
    };
  }

  private counts(): CountsFigures {
    const { countsWatch: watch } = this.source;
    const now = this.source.counts();
    const since = differences(watch.statementDurations, this.statementsBefore);
    this.statementsBefore = watch.statementDurations.slice();
    return {
      state: stateOfCounts(watch, now),
      isEmbedded: now.isEmbedded,
      trouble: watch.trouble,
      waiting: now.waiting,
      statementsInFlight: now.statementsInFlight,
      changesTotal: watch.changesApplied,
      changesFailedTotal: watch.changesFailed,
      statementsTotal: watch.statementDurations.reduce((sum, count) => sum + count, 0),
      statementsFailedTotal: watch.statementsFailed,
      latencyMsTotal: watch.latencyMsTotal,
      statementP99Microseconds: quantile(since, 0.99),
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

const NO_IDENTIFIERS: Hottest = { rates: [], takes: [], denied: [] };

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

function hotFigures({ identifier, allowedPerSecond, deniedPerSecond }: HotIdentifier): HotFigures {
  return { identifier: Buffer.from(identifier, 'latin1').toString('utf8'), allowedPerSecond, deniedPerSecond };
}

function quotaFigures(
  { policies, figures }: SnapshotSource['quotas'],
  { takes }: DecisionCounts,
  hottest: readonly HotIdentifier[],
): QuotaFigures[] {
  return policies
    .slice(0, QUOTAS)
    .map(({ number, name, limit, windowMs, leaseMs, waitMs, allocator, shares, ...policy }) => {
      const taken = takes.get(number);
      const refilled = figures.byQuota.get(number);
      return {
        name,
        limit,
        windowMs,
        leaseMs: leaseMs === undefined || leaseMs === 0 ? null : leaseMs,
        waitMs,
        calendar: policy.calendar?.unit ?? null,
        isCatalogued: policy.isCatalogued === true,
        allocator,
        shares,
        allowedTotal: taken?.allowed ?? 0,
        deniedTotal: taken?.denied ?? 0,
        tokensTotal: taken?.tokens ?? 0,
        refillsTotal: refilled?.refills ?? 0,
        tokensRefilledTotal: refilled?.tokensRefilled ?? 0,
        subjects: hottest
          .filter(({ scope }) => scope === number)
          .slice(0, HOT_SUBJECTS)
          .map(hotFigures),
      };
    });
}

function tokenFlow({ figures }: SnapshotSource['quotas']): TokenFlow[] {
  return [...figures.byRegion].map(([region, { given, received, requests, waitedMs }]) => ({
    region,
    givenTotal: given,
    receivedTotal: received,
    requestsTotal: requests,
    waitedMsTotal: waitedMs,
  }));
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
        isConfigured: peer.isConfigured,
        roundTripMs: peer.roundTripMs,
        skewMs: peer.skewMs,
        lagVersions: peer.lagVersions,
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
