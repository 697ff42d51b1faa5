import { SLOT_COUNT } from './key-slot.js';

/** Slots from the first to the last, both included. */
export interface SlotRange {
  readonly first: number;
  readonly last: number;
}

const RANGE = /^(\d{1,5})(?:-(\d{1,5}))?$/;

/** Reads `17` or `0-8191`; undefined where it is no range of slots. */
export function parseRange(text: string): SlotRange | undefined {
  const [, from, to = from] = RANGE.exec(text) ?? [];
  if (from === undefined) return undefined;
  const range = { first: Number(from), last: Number(to) };
  return range.first <= range.last && range.last < SLOT_COUNT ? range : undefined;
}

export function printRange({ first, last }: SlotRange): string {
  return first === last ? String(first) : `${first}-${last}`;
}

export function countSlots(ranges: readonly SlotRange[]): number {
  return ranges.reduce((sum, { first, last }) => sum + last - first + 1, 0);
}

/** The slots for which `isIn` is true, as ranges in ascending order. */
export function rangesOf(isIn: (slot: number) => boolean): SlotRange[] {
  const ranges: SlotRange[] = [];
  let first = -1;
  for (let slot = 0; slot <= SLOT_COUNT; slot++) {
    const isHere = slot < SLOT_COUNT && isIn(slot);
    if (isHere && first < 0) first = slot;
    if (isHere || first < 0) continue;
    ranges.push({ first, last: slot - 1 });
    first = -1;
  }
  return ranges;
}

/** Whether a slot is in one of these ranges. */
export function inRanges(ranges: readonly SlotRange[]): (slot: number) => boolean {
  const table = new Uint8Array(SLOT_COUNT);
  for (const { first, last } of ranges) table.fill(1, first, last + 1);
  return (slot) => table[slot] === 1;
}

/** The slots that are in both. */
export function commonRanges(some: readonly SlotRange[], others: readonly SlotRange[]): SlotRange[] {
  const [isInSome, isInOthers] = [inRanges(some), inRanges(others)];
  return rangesOf((slot) => isInSome(slot) && isInOthers(slot));
}

/** Divides slots into `parts` lists of ranges whose sizes differ by one at most, in order. */
export function divideRanges(ranges: readonly SlotRange[], parts: number): SlotRange[][] {
  const total = countSlots(ranges);
  const divided: SlotRange[][] = Array.from({ length: parts }, () => []);
  let before = 0;
  for (const range of ranges) {
    let { first } = range;
    while (first <= range.last) {
      const part = Math.floor(((before + 1) * parts - 1) / total);
      const endOfPart = Math.floor(((part + 1) * total) / parts);
      const last = Math.min(range.last, first + (endOfPart - before) - 1);
      divided[part].push({ first, last });
      before += last - first + 1;
      first = last + 1;
    }
  }
  return divided;
}
