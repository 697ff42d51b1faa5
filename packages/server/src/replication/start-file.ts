import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Start } from '@quotadb/replication';
import { StorageError, writeWholeFile } from '@quotadb/storage';

/**
 * `starts.json` in the data directory: the starts of this incarnation, by which peers show that the directory is an old
 * copy (LostState in packages/replication). A backup leaves it out: a server that starts from one is a new incarnation.
 */
const FILE = 'starts.json';
/** A start between two others that changed nothing is not kept, so these reach back as many starts with changes. */
const MAXIMUM_STARTS = 32;

interface SavedStarts {
  readonly origin: string;
  readonly starts: readonly { readonly nowMs: number; readonly versions: readonly number[] }[];
}

/** Adds the present start to those on disk, and returns all: it is on disk before the first change is made. */
export function noteStart(directory: string, origin: string, present: Start): readonly Start[] {
  const versions = Array.from(present.versions);
  const before = load(directory, origin).filter(
    (start) =>
      start.versions.length === versions.length && start.versions.some((version, at) => version !== versions[at]),
  );
  // From now on this process gives versions of the present time: where a clock was ahead before, no gap reaches beyond.
  const gaps = before.map((start) => ({ ...start, nowMs: Math.min(start.nowMs, present.nowMs) }));
  const starts = [...gaps, { nowMs: present.nowMs, versions }].slice(-MAXIMUM_STARTS);
  writeWholeFile(directory, FILE, `${JSON.stringify({ origin, starts } satisfies SavedStarts)}\n`);
  return starts;
}

function load(directory: string, origin: string): SavedStarts['starts'] {
  const path = join(directory, FILE);
  try {
    const saved = JSON.parse(readFileSync(path, 'utf8')) as SavedStarts;
    const isStart = ({ nowMs, versions }: SavedStarts['starts'][number]) =>
      Number.isFinite(nowMs) && versions.every((version) => Number.isSafeInteger(version));
    if (saved.origin !== origin) return [];
    if (saved.starts.every(isStart)) return saved.starts;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
  }
  throw new StorageError(
    `${path} is damaged. Remove it if this directory is no old copy; otherwise quotadb repair --new-incarnation`,
  );
}
