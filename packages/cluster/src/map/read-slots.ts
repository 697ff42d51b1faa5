import { type Path, quote } from '@quotadb/wire/documents';
import { SLOT_COUNT } from '../slots/key-slot.js';
import { parseRange, type SlotRange } from '../slots/slot-range.js';

export type Report = (path: Path, message: string) => void;

export type WrittenSlots = number | string | readonly (number | string)[];

export interface ReadRange {
  readonly range: SlotRange;
  /** Where it is written. */
  readonly path: Path;
}

/** The ranges of slots as a map has them written: a number, a text such as `0-5,7`, or a list of these. */
export function readSlots(slots: WrittenSlots, path: Path, report: Report): ReadRange[] {
  const isList = typeof slots === 'object';
  const given = isList ? slots : String(slots).split(',');
  return [...given.entries()].flatMap(([at, item]) => {
    const itemPath = [...path, ...(isList ? [at] : [])];
    const range = parseRange(String(item).trim());
    if (range !== undefined) return [{ range, path: itemPath }];
    report(itemPath, `slots are numbers and ranges from 0 to ${SLOT_COUNT - 1}, such as 0-8191, not ${quote(item)}`);
    return [];
  });
}
