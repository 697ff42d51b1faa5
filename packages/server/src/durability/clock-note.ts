import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { writeWholeFile } from '@quotadb/storage';

/**
 * `clock.json` in the data directory: the clocks of all peers have shown that the time of this server is far ahead. So
 * at a start where the data is later than the clock, the data is wrong and not the clock. A backup leaves it out.
 */
const FILE = 'clock.json';

export interface ClockNote {
  /** The latest of the peers' clocks when this was noted: a clock that is earlier at a start is wrong itself. */
  readonly peersMs: number;
  /** By shard: peers hold this node's own changes up to this version. */
  readonly heldByPeers: readonly number[];
}

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
