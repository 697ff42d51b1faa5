import type { ClusterFigures } from '@quotadb/dashboard';
import { counter, gauge, type MetricSource, type Samples, samplesBy } from './metric.js';

/** What metrics show of a cluster. */
export interface ClusterSource {
  readonly figures: {
    readonly revision: number;
    readonly slots: number;
    readonly reachable: number;
    readonly unreachable: number;
    readonly mistakes: number;
    /** Undefined where the map is in a file. */
    readonly isReachable: boolean | undefined;
    readonly forwarded: number;
    readonly failed: number;
    /** Commands that have waited for slots on their way. */
    readonly waited: number;
    /** Undefined where the map is in a file. */
    readonly moves: MoveFigures | undefined;
  };
  /** Undefined before there is a map. */
  describe(): ClusterFigures | undefined;
}

/** Of the slots that this node has moved to other groups. */
interface MoveFigures {
  readonly slots: number;
  readonly keys: number;
  readonly bytes: number;
  readonly wentBack: number;
  readonly longestHoldMs: number;
  readonly isWaiting: boolean;
}

/** Absent without --cluster-map and --etcd. */
export const clusterMetricTable = {
  quotadb_cluster_map_revision: gauge('Revision of the cluster map in force; the same on all nodes, but for moments.'),
  quotadb_cluster_map_mistakes: gauge('Mistakes in the newest cluster map; an earlier map is in force with any.'),
  quotadb_cluster_etcd_reachable: gauge('1 while etcd answers; with 0 the known map holds and its changes wait.'),
  quotadb_cluster_slots: gauge("Slots of this node's group."),
  quotadb_cluster_nodes: gauge('Other nodes in the view of clients in this region, by whether they answer.'),
  quotadb_cluster_unassigned_slots: gauge('Slots of no group: their keys are answered with CLUSTERDOWN.'),
  quotadb_cluster_member_up: gauge(
    'Every other member of every group: 1 where it answers this node, 0 where it does not.',
  ),
  quotadb_cluster_revisions: gauge('Different revisions of the map among the members that answer; 1 but for moments.'),
  quotadb_cluster_moving_slots: gauge('Slots of moves that are planned or under way, by the groups.'),
  quotadb_cluster_policies: gauge(
    'At the home of each group: 1 for every other group and how its policies and limits ' +
      'compare: same, different, unreachable.',
  ),
  quotadb_cluster_forwarded_total: counter('Commands carried to the group that owns their keys.'),
  quotadb_cluster_forward_failures_total: counter('Attempts to carry a command that got no reply.'),
  quotadb_cluster_commands_waited_total: counter('Commands that waited because their slot was on its way.'),
  quotadb_cluster_moved_slots_total: counter('Slots that this node has moved to other groups.'),
  quotadb_cluster_moved_keys_total: counter('Keys of these slots.'),
  quotadb_cluster_moved_bytes_total: counter('Bytes that were sent for them.'),
  quotadb_cluster_moves_went_back_total: counter('Batches of slots that took too long and stayed where they were.'),
  quotadb_cluster_longest_hold_seconds: gauge('The longest that commands on a slot were held, since the start.'),
  quotadb_cluster_moves_waiting: gauge(
    '1 while slots that this node is to move wait; quotadb cluster status says why.',
  ),
} satisfies MetricSource['metrics'];

type Name = keyof typeof clusterMetricTable;

export function clusterMetrics(cluster: ClusterSource | undefined): MetricSource<Name> {
  return {
    metrics: clusterMetricTable,
    collect(): Samples<Name> {
      if (cluster === undefined) return {};
      const { revision, mistakes, isReachable, slots, reachable, unreachable, forwarded, failed, waited, moves } =
        cluster.figures;
      const described = cluster.describe();
      return {
        quotadb_cluster_map_revision: revision,
        quotadb_cluster_map_mistakes: mistakes,
        ...(isReachable !== undefined && { quotadb_cluster_etcd_reachable: Number(isReachable) }),
        quotadb_cluster_slots: slots,
        quotadb_cluster_nodes: samplesBy('state', { reachable, unreachable }),
        ...describedSamples(described),
        quotadb_cluster_forwarded_total: forwarded,
        quotadb_cluster_forward_failures_total: failed,
        quotadb_cluster_commands_waited_total: waited,
        ...(moves !== undefined && {
          quotadb_cluster_moved_slots_total: moves.slots,
          quotadb_cluster_moved_keys_total: moves.keys,
          quotadb_cluster_moved_bytes_total: moves.bytes,
          quotadb_cluster_moves_went_back_total: moves.wentBack,
          quotadb_cluster_longest_hold_seconds: moves.longestHoldMs / 1000,
          quotadb_cluster_moves_waiting: Number(moves.isWaiting),
        }),
      };
    },
  };
}

function describedSamples(described: ClusterFigures | undefined): Samples<Name> {
  if (described === undefined) return {};
  const { groups, moves, revisions, unassignedSlots } = described;
  return {
    quotadb_cluster_unassigned_slots: unassignedSlots,
    quotadb_cluster_revisions: revisions,
    quotadb_cluster_member_up: groups.flatMap(({ name: group, members }) =>
      members
        .filter(({ state }) => state === 'reachable' || state === 'unreachable')
        .map(({ name, state }) => ({ labels: { group, member: name }, value: state === 'reachable' ? 1 : 0 })),
    ),
    quotadb_cluster_moving_slots: moves.map(({ from, to, slots }) => ({ labels: { from, to }, value: slots })),
    quotadb_cluster_policies: groups.flatMap(({ name: group, policies: state }) =>
      state === null ? [] : [{ labels: { group, state }, value: 1 }],
    ),
  };
}
