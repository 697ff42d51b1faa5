/**
 * Groups that own slots, without a protocol: RESP and the tools are adapters over this package.
 *
 *   slots   the slot of a key, ranges of slots
 *   map     which group owns which slots and who its members are: schema, all mistakes of a text with their lines
 *   store   where members keep the map, and say that they are there
 *   etcd    such a store, loaded apart as @quotadb/cluster/etcd
 *   moves   slots that move with their keys: the steps of the map, the mover that makes them, the member that receives
 *   view    what clients of one region see of a map and of the members that are reachable
 *
 * Cost: the slot of a key is one step for each of its bytes, the owner of a slot one look-up; both allocate nothing.
 * Bounds: 16,384 slots, 250 groups, 64 members of a group, 1 MiB of text.
 */
export { ClusterMap, type Group, type Member, UNASSIGNED } from './map/cluster-map.js';
export { findRevisionFault } from './map/compare.js';
export { mapOf, readMap, readMapDocument, readStoredDocument } from './map/read-map.js';
export type { MapDocument } from './map/schema.js';
export { Mover } from './moves/mover.js';
export type { Chosen, Marks, Sent } from './moves/ports.js';
export { type PlannedMove, planRebalance } from './moves/rebalance.js';
export { Receiver } from './moves/receiver.js';
export { HELD, HERE, slotStates, UNOWNED } from './moves/slot-states.js';
export { planMove, setPaused } from './moves/steps.js';
export { SLOT_COUNT, slotOfKey, slotOfText } from './slots/key-slot.js';
export {
  commonRanges,
  countSlots,
  inRanges,
  parseRange,
  printRange,
  rangesOf,
  type SlotRange,
} from './slots/slot-range.js';
export { slotTag, withoutSlotTag } from './slots/slot-tag.js';
export type { MapStore, MemberStatement, StoredMap } from './store/map-store.js';
export { type ClusterView, type ViewNode, viewOf } from './view/cluster-view.js';
export { nodeIdOf } from './view/node-id.js';
export { infoLines, portFor, printNodes } from './view/print-view.js';
