import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { ClockNote } from '@quotadb/replication';
import { writeWholeFile } from '@quotadb/storage';

/** `clock.json` in the data directory: see ClockNote. A backup leaves it out. */
const FILE = 'clock.json';

/** Undefined where there is none; one that is damaged is none, as it will be written again. */
export function readClockNote(directory: string): ClockNote | undefined {
  try {
    const note = JSON.parse(readFileSync(join(directory, FILE), 'utf8')) as ClockNote;
    const isWhole = Number.isFinite(note.peersMs) && note.heldByPeers.every((version) => Number.isSafeInteger(version));
    return isWhole ? note : undefined;
  } catch {
    return undefined;
  }
}

export function writeClockNote(directory: string, note: ClockNote | undefined): void {
  if (note === undefined) rmSync(join(directory, FILE), { force: true });
  else writeWholeFile(directory, FILE, `${JSON.stringify(note)}\n`);
}
