import { type ClusterMap, UNASSIGNED } from '../map/cluster-map.js';

/** The slot is one of this node's group. */
export const HERE = 0;
/** The slot is on its way from or to this node's group: commands wait until it is there. */
export const HELD = 254;
/** No group has the slot. */
export const UNOWNED = 255;

/** Of every slot, what a member of this group does with it: one of the above, or 1 and more where it is another's. */
export function slotStates(map: ClusterMap, group: string): Uint8Array {
  const own = map.groups.findIndex(({ name }) => name === group);
  const states = map.owners.map((owner) => (owner === UNASSIGNED ? UNOWNED : owner === own ? HERE : owner + 1));
  for (const { from, to, held } of map.moves)
    if (from === group || to === group) for (const { first, last } of held) states.fill(HELD, first, last + 1);
  return states;
}
