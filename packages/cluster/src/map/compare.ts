import { rangesOf, type SlotRange } from '../slots/slot-range.js';
import { type ClusterMap, UNASSIGNED } from './cluster-map.js';

/** The slots that a group has in one map and not in the other. */
export function slotsLost(group: string, before: ClusterMap, after: ClusterMap): SlotRange[] {
  const [from, to] = [indexOf(before, group), indexOf(after, group)];
  return rangesOf((slot) => before.owners[slot] === from && after.owners[slot] !== to);
}

function indexOf({ groups }: ClusterMap, name: string): number {
  const index = groups.findIndex((group) => group.name === name);
  return index < 0 ? UNASSIGNED - 1 : index;
}

/** Why a map cannot take the place of another; undefined where it can. */
export function findRevisionFault(before: ClusterMap, after: ClusterMap): string | undefined {
  if (after.revision > before.revision) return undefined;
  const { revision } = before;
  if (after.revision === revision)
    return `the map has changed and its revision ${revision} has not: give it the revision ${revision + 1}`;
  return `its revision ${after.revision} is older than that of the map in force, ${revision}`;
}
