import type { ClusterFigures } from '../../src/snapshot.js';

export const SLOT_COUNT = 16_384;
/** A bar with more parts than this cannot be distinguished: it is drawn in steps of some slots. */
const MOST_SEGMENTS = 300;

/** A part of the bar of slots. */
export interface Segment {
  readonly first: number;
  readonly last: number;
  /** Index of the group; -1 where no group has the slots. */
  readonly group: number;
  readonly isMoving: boolean;
}

/** All slots from the first to the last, in as few parts as show who has them and which are on their way. */
export function segmentsOf({ groups, moves }: Pick<ClusterFigures, 'groups' | 'moves'>): Segment[] {
  const owners = new Int16Array(SLOT_COUNT).fill(-1);
  const moving = new Uint8Array(SLOT_COUNT);
  for (const [index, { ranges }] of groups.entries())
    for (const [first, last] of ranges) owners.fill(index, first, last + 1);
  for (const { ranges } of moves) for (const [first, last] of ranges) moving.fill(1, first, last + 1);
  for (let step = 1; ; step *= 2) {
    const segments = joinSlots(owners, moving, step);
    if (segments.length <= MOST_SEGMENTS) return segments;
  }
}

/** One slot stands for those of its step. */
function joinSlots(owners: Int16Array, moving: Uint8Array, step: number): Segment[] {
  const segments: { first: number; last: number; group: number; isMoving: boolean }[] = [];
  for (let first = 0; first < SLOT_COUNT; first += step) {
    const [group, isMoving] = [owners[first] as number, moving[first] === 1];
    const before = segments.at(-1);
    if (before?.group === group && before.isMoving === isMoving) before.last = first + step - 1;
    else segments.push({ first, last: first + step - 1, group, isMoving });
  }
  return segments;
}
