import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type KeptStart, released, type Start, withPresent } from '@quotadb/replication';
import { type LogPlace, StorageError, writeWholeFile } from '@quotadb/storage';

/**
 * `starts.json` in the data directory: the starts of this incarnation, by which peers show that the directory is an old
 * copy (OwnStarts in packages/replication). A backup leaves it out: a server that starts from one is a new incarnation.
 */
const FILE = 'starts.json';

export type SavedStart = KeptStart<LogPlace>;

interface SavedStarts {
  readonly origin: string;
  readonly starts: readonly SavedStart[];
}

/** Adds the present start to those on disk, and returns all: it is on disk before the first change is made. */
export function noteStart(
  directory: string,
  origin: string,
  present: Start & { readonly place?: LogPlace },
): readonly SavedStart[] {
  const starts = withPresent(load(directory, origin), { ...present, versions: Array.from(present.versions) });
  save(directory, origin, starts);
  return starts;
}

/** Changes that were made since these starts may be sent from now on. */
export function releaseStarts(directory: string, origin: string, starts: readonly SavedStart[]): void {
  save(directory, origin, starts.map(released));
}

function save(directory: string, origin: string, starts: readonly SavedStart[]): void {
  writeWholeFile(directory, FILE, `${JSON.stringify({ origin, starts } satisfies SavedStarts)}\n`);
}

function load(directory: string, origin: string): readonly SavedStart[] {
  const path = join(directory, FILE);
  try {
    const saved = JSON.parse(readFileSync(path, 'utf8')) as SavedStarts;
    const isStart = ({ nowMs, versions, isHeld, place }: SavedStart) =>
      Number.isFinite(nowMs) &&
      versions.every((version) => Number.isSafeInteger(version)) &&
      (isHeld !== true || (Number.isSafeInteger(place?.segment) && Number.isSafeInteger(place?.previousEnd)));
    if (saved.origin !== origin) return [];
    if (saved.starts.every(isStart)) return saved.starts;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
  }
  throw new StorageError(
    `${path} is damaged. Remove it if this directory is no old copy; otherwise quotadb repair --new-incarnation`,
  );
}
