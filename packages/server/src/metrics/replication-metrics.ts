import { BATCH_SIZE_BUCKETS } from '@quotadb/replication';
import type { PeerDescription, RegionAge, ReplicationDescription, ServerState, ShardLag } from '@quotadb/resp';
import { counter, gauge, histogram, type MetricSource, type Sample, type Samples, samplesBy } from './metric.js';

/** The peers of this region; no samples before the first peer. */
export const replicationMetricTable = {
  quotadb_peer_connected: gauge('1 while the other region is connected, by peer and the state it is in.'),
  quotadb_peer_lag_seconds: gauge(
    'How long the oldest change of this region that the other has not acknowledged has waited; in step, a round trip.',
  ),
  quotadb_peer_lag_shards: gauge('Shards of which the other region has not acknowledged everything.'),
  quotadb_peer_shard_lag_seconds: gauge(
    'By shard: how long the oldest change that the other region has not acknowledged has waited; 0 where it has all.',
  ),
  quotadb_peer_round_trip_seconds: gauge('Time to the other region and back.'),
  quotadb_peer_clock_skew_seconds: gauge('How far the clock of the other region is ahead of this one.'),
  quotadb_peer_joined_ratio: gauge('Share of the other region’s keys that are here, after a start without data.'),
  quotadb_peer_bytes_total: counter('Bytes exchanged with the other region, by direction.'),
  quotadb_peer_batches_total: counter('Batches exchanged with the other region, by direction.'),
  quotadb_peer_components_total: counter('Components exchanged with the other region, by direction.'),
  quotadb_peer_batch_components: histogram('Components in a batch sent to the other region.'),
  quotadb_peer_frames_ahead_total: counter(
    "Frames with a version or time too far ahead of this server's clock, which were not applied.",
  ),
  quotadb_peer_gaps_total: counter('Batches that left a gap behind the last one, and were requested again.'),
  quotadb_peer_digest_mismatches_total: counter('Comparisons with the other region that found a difference.'),
  quotadb_peer_components_resent_total: counter('Components sent again to repair a difference.'),
  quotadb_peer_connections_total: counter('Connections made with the other region.'),
  quotadb_replication_refusals_total: counter('Regions that were refused, by code.'),
  quotadb_region_age_seconds: gauge('Age of the data of another region that values here include.'),
} satisfies MetricSource['metrics'];

type Name = keyof typeof replicationMetricTable;

const MILLISECONDS = 1000;
const BATCH_SIZE_BOUNDS = Array.from({ length: BATCH_SIZE_BUCKETS - 1 }, (_, bucket) => 2 ** bucket);
const PERCENT = 100;

export interface ReplicationMetricsOptions {
  readonly state: ServerState;
  readonly shardsOf: (region: string) => readonly ShardLag[];
}

export function replicationMetrics({ state, shardsOf }: ReplicationMetricsOptions): MetricSource<Name> {
  const { replication } = state;
  return {
    metrics: replicationMetricTable,
    collect() {
      const description = replication.describe();
      if (description?.isActive !== true) return {};
      const { peers } = description;
      return { ...ofPeers(peers), ...ofShards(peers, shardsOf), ...ofRegions(description, replication.ages()) };
    },
  };
}

function ofPeers(peers: readonly PeerDescription[]): Samples<Name> {
  /** A sample for each peer that has the figure. */
  const each = (value: (peer: PeerDescription) => number | undefined): Sample[] =>
    peers.flatMap((peer) => {
      const found = value(peer);
      return found === undefined ? [] : [{ labels: { peer: peer.region }, value: found }];
    });
  const bothWays = (name: 'bytes' | 'batches' | 'components'): Sample[] =>
    peers.flatMap(({ region, figures }) =>
      samplesBy('direction', { in: figures[`${name}In`], out: figures[`${name}Out`] }, { peer: region }),
    );
  const seconds = (milliseconds: number): number | undefined =>
    milliseconds < 0 ? undefined : milliseconds / MILLISECONDS;
  return {
    quotadb_peer_connected: peers.map(({ region, state }) => ({
      labels: { peer: region, state },
      value: state === 'connected' ? 1 : 0,
    })),
    quotadb_peer_lag_seconds: each(({ lagMs }) => seconds(lagMs)),
    quotadb_peer_lag_shards: each(({ lagShards }) => lagShards),
    quotadb_peer_round_trip_seconds: each(({ roundTripMs }) => seconds(roundTripMs)),
    quotadb_peer_clock_skew_seconds: each(({ skewMs }) => skewMs / MILLISECONDS),
    quotadb_peer_joined_ratio: each(({ joinedPercent }) => joinedPercent / PERCENT),
    quotadb_peer_bytes_total: bothWays('bytes'),
    quotadb_peer_batches_total: bothWays('batches'),
    quotadb_peer_components_total: bothWays('components'),
    quotadb_peer_batch_components: peers
      .filter(({ figures }) => figures.batchSizesOut.length > 0)
      .map(({ region, figures }) => ({
        labels: { peer: region },
        value: { bounds: BATCH_SIZE_BOUNDS, counts: figures.batchSizesOut, sum: figures.componentsOut },
      })),
    quotadb_peer_frames_ahead_total: each(({ figures }) => figures.framesAhead),
    quotadb_peer_gaps_total: each(({ figures }) => figures.gaps),
    quotadb_peer_digest_mismatches_total: each(({ figures }) => figures.digestMismatches),
    quotadb_peer_components_resent_total: each(({ figures }) => figures.componentsResent),
    quotadb_peer_connections_total: each(({ figures }) => figures.connections),
  };
}

function ofShards(peers: readonly PeerDescription[], shardsOf: (region: string) => readonly ShardLag[]): Samples<Name> {
  return {
    quotadb_peer_shard_lag_seconds: peers.flatMap(({ region }) =>
      shardsOf(region)
        .filter(({ lagMs }) => lagMs >= 0)
        .map(({ shard, lagMs }) => ({ labels: { peer: region, shard }, value: lagMs / MILLISECONDS })),
    ),
  };
}

function ofRegions({ refusals, region: own }: ReplicationDescription, ages: readonly RegionAge[]): Samples<Name> {
  return {
    quotadb_replication_refusals_total: Object.entries(refusals).map(([code, value]) => ({ labels: { code }, value })),
    quotadb_region_age_seconds: ages
      .filter(({ region, ageMs }) => ageMs !== undefined && region !== own)
      .map(({ region, ageMs }) => ({ labels: { peer: region }, value: (ageMs ?? 0) / MILLISECONDS })),
  };
}
