import { type Path, quote } from '@quotadb/wire/documents';
import { SLOT_COUNT } from '../slots/key-slot.js';
import { printRange, rangesOf, type SlotRange } from '../slots/slot-range.js';
import type { Move } from './cluster-map.js';
import { type Report, readSlots, type WrittenSlots } from './read-slots.js';
import type { MapDocument } from './schema.js';

/** The moves of a map, and the rules between them: a slot is in one move, and whose it is agrees with the groups. */
export function movesOf(
  { moves = [] }: MapDocument,
  names: readonly string[],
  owners: Uint8Array,
  report: Report,
): Move[] {
  const taken = new Uint8Array(SLOT_COUNT);
  return moves.map(({ from, to, slots, held, since, left }, at) => {
    const path = ['moves', at];
    for (const [field, name] of [['from', from] as const, ['to', to] as const])
      if (!names.includes(name)) report([...path, field], `there is no group ${quote(name)}`);
    if (from === to) report([...path, 'to'], 'a move is between two groups');
    const read = (field: string, written: WrittenSlots | undefined) => tableOf(written, [...path, field], report);
    const [moving, holding, leaving] = [read('slots', slots), read('held', held), read('left', left)];
    const [giver, taker] = [names.indexOf(from), names.indexOf(to)];
    const wrong = (field: string, isWrong: (slot: number) => boolean, why: string) => {
      const [first] = rangesOf(isWrong);
      if (first !== undefined) report([...path, field], `slots ${printRange(first)} ${why}`);
    };
    wrong('slots', (slot) => moving[slot] === 1 && owners[slot] !== giver, `are not of the group ${quote(from)}`);
    wrong('held', (slot) => holding[slot] === 1 && moving[slot] === 0, 'are held and not in the move');
    wrong('left', (slot) => leaving[slot] === 1 && owners[slot] !== taker, `are not of the group ${quote(to)}`);
    wrong('slots', (slot) => taken[slot] === 1 && (moving[slot] === 1 || leaving[slot] === 1), 'are in two moves');
    for (let slot = 0; slot < SLOT_COUNT; slot++) taken[slot] |= moving[slot] | leaving[slot];
    return { from, to, slots: rangesIn(moving), held: rangesIn(holding), since, left: rangesIn(leaving) };
  });
}

/** 1 for every slot that is written. */
function tableOf(written: WrittenSlots | undefined, path: Path, report: Report): Uint8Array {
  const table = new Uint8Array(SLOT_COUNT);
  if (written === undefined) return table;
  for (const { range } of readSlots(written, path, report)) table.fill(1, range.first, range.last + 1);
  return table;
}

function rangesIn(table: Uint8Array): SlotRange[] {
  return rangesOf((slot) => table[slot] === 1);
}
