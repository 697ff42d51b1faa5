import { randomBytes } from 'node:crypto';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { StorageError } from '../files/errors.js';
import { writeWholeFile } from '../files/whole-file.js';

/** Where the log of a start begins: its first segment, and where the records of the one before end. */
export interface LogPlace {
  readonly segment: number;
  readonly previousEnd: number;
}

/**
 * `old-copy.json` in the data directory: a peer has shown that this directory is an old copy, another process has
 * changed the incarnation that it belongs to. The next start makes it a new one (new-incarnation.ts), and removes this.
 */
export interface OldCopy {
  /** Replica id and incarnation that the directory had, in hexadecimal digits. */
  readonly origin: string;
  /** The incarnation that it becomes: known beforehand, so that a start that was cut short can be repeated. */
  readonly nextIncarnation: string;
  /** The start up to which both were the same. No peer has any change that was made here since. */
  readonly base: LogPlace;
  /** By shard: the version that the incarnation had come to at that start. */
  readonly versions: readonly number[];
}

const FILE = 'old-copy.json';
const INCARNATION_BYTES = 16;

export function markOldCopy(
  directory: string,
  origin: string,
  { segment, previousEnd }: LogPlace,
  versions: readonly number[],
): void {
  const nextIncarnation = randomBytes(INCARNATION_BYTES).toString('hex');
  const mark: OldCopy = { origin, nextIncarnation, base: { segment, previousEnd }, versions };
  writeWholeFile(directory, FILE, `${JSON.stringify(mark)}\n`);
}

/** Undefined where there is none, or one of another origin. */
export function readOldCopy(directory: string, origin: string): OldCopy | undefined {
  const path = join(directory, FILE);
  try {
    const mark = JSON.parse(readFileSync(path, 'utf8')) as OldCopy;
    const { segment, previousEnd } = mark.base;
    if (mark.origin !== origin) return undefined;
    const isPlace = segment >= 1 && previousEnd >= 0 && mark.versions.every((version) => version >= 0);
    if (/^[0-9a-f]{32}$/.test(mark.nextIncarnation) && isPlace) return mark;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
  }
  throw new StorageError(`${path} is damaged. Remove it: a peer shows again that this directory is an old copy`);
}

export function removeOldCopy(directory: string): void {
  rmSync(join(directory, FILE), { force: true });
}
