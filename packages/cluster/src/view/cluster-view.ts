import type { ClusterMap, Group, Member } from '../map/cluster-map.js';
import { divideRanges, type SlotRange } from '../slots/slot-range.js';
import { nodeIdOf } from './node-id.js';

/** A node as clients of one region see it. Plain data: views are sent between threads. */
export interface ViewNode {
  readonly id: string;
  readonly group: string;
  readonly host: string;
  readonly port: number | undefined;
  readonly tlsPort: number | undefined;
  readonly isLive: boolean;
  /** The slots that clients should send here; none while it is not reachable. */
  readonly slots: readonly SlotRange[];
}

/** What clients of one region see of a map: for each group the members of their own region. */
export interface ClusterView {
  readonly revision: number;
  readonly groupCount: number;
  /** Index in `nodes` of the node that this view is of. */
  readonly ownIndex: number;
  readonly nodes: readonly ViewNode[];
}

export interface ViewOptions {
  readonly map: ClusterMap;
  /** The node that makes the view. */
  readonly own: Member;
  /** Whether a member is reachable, as far as this node knows. */
  readonly isLive: (member: Member) => boolean;
}

/**
 * Every member of a group takes every write, so the slots of a group are divided among its live members: each looks
 * like a master of its part, and one that is not reachable has none. All nodes that know the same map and reach the
 * same members make the same view.
 */
export function viewOf({ map, own, isLive }: ViewOptions): ClusterView {
  const nodes = map.groups.flatMap((group) => nodesOf(group, own.region, isLive));
  const id = nodeIdOf(own);
  const ownIndex = nodes.findIndex((node) => node.id === id);
  return { revision: map.revision, groupCount: map.groups.length, ownIndex, nodes };
}

function nodesOf(group: Group, region: string, isLive: (member: Member) => boolean): ViewNode[] {
  const members = visibleMembers(group, region, isLive);
  const live = members.filter(isLive);
  // Where no member is reachable, clients see those that should be: their own errors say the rest.
  const serving = live.length > 0 ? live : members;
  const parts = divideRanges(group.slots, serving.length);
  return members.map((member) => ({
    id: nodeIdOf(member),
    group: group.name,
    host: member.host,
    port: member.port,
    tlsPort: member.tlsPort,
    isLive: isLive(member),
    slots: parts[serving.indexOf(member)] ?? [],
  }));
}

/** Those of the own region; where it has none that is reachable, those of the others too. */
function visibleMembers({ members }: Group, region: string, isLive: (member: Member) => boolean): readonly Member[] {
  const own = members.filter((member) => member.region === region);
  return own.some(isLive) ? own : members;
}
