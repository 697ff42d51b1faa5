import { SLOT_COUNT } from '../slots/key-slot.js';
import { rangesOf, type SlotRange } from '../slots/slot-range.js';

/** A node, as others reach it. */
export interface Member {
  readonly group: string;
  readonly region: string;
  /** Its name in the region; empty where the region has one member of the group. */
  readonly name: string;
  readonly host: string;
  /** At least one of the two. */
  readonly port: number | undefined;
  readonly tlsPort: number | undefined;
}

/** Members that hold the same keys: a mesh of regions. */
export interface Group {
  readonly name: string;
  /** In ascending order. */
  readonly slots: readonly SlotRange[];
  readonly members: readonly Member[];
}

/** Slots on their way from one group to another, see docs/decisions/0027-slots-move.md. */
export interface Move {
  readonly from: string;
  readonly to: string;
  /** Those that `from` still owns, the held ones among them. */
  readonly slots: readonly SlotRange[];
  /** No command on these begins in either group. */
  readonly held: readonly SlotRange[];
  /** The revision that the hold began with: no two holds have the same. */
  readonly since?: number | undefined;
  /** Those that `to` owns already, and `from` has copies of. */
  readonly left: readonly SlotRange[];
}

/** In the table of owners: a slot of no group. */
export const UNASSIGNED = 255;

/** Which group owns which slots, and who its members are. It never changes: another revision is another map. */
export class ClusterMap {
  readonly revision: number;
  /** In the order of their names, which is the same for all readers of a map. */
  readonly groups: readonly Group[];
  /** Of every slot, the index of its group, or UNASSIGNED. */
  readonly owners: Uint8Array;

  readonly moves: readonly Move[];
  /** Moves stand still until an operator goes on with them. */
  readonly isPaused: boolean;

  /** `owners` has the index in `groups` of each slot's group. */
  constructor(
    revision: number,
    groups: readonly Omit<Group, 'slots'>[],
    owners: Uint8Array,
    moves: readonly Move[] = [],
    isPaused = false,
  ) {
    if (owners.length !== SLOT_COUNT) throw new Error(`a map has ${SLOT_COUNT} slots, not ${owners.length}`);
    this.revision = revision;
    this.owners = owners;
    this.moves = moves;
    this.isPaused = isPaused;
    this.groups = groups.map((group, index) => ({ ...group, slots: rangesOf((slot) => owners[slot] === index) }));
  }

  groupOf(slot: number): Group | undefined {
    return this.groups[this.owners[slot]];
  }

  find(group: string): Group | undefined {
    return this.groups.find(({ name }) => name === group);
  }

  findMember(group: string, region: string, name: string): Member | undefined {
    return this.find(group)?.members.find((member) => member.region === region && member.name === name);
  }
}
