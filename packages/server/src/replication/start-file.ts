import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Start } from '@quotadb/replication';
import { type LogPlace, StorageError, writeWholeFile } from '@quotadb/storage';

/**
 * `starts.json` in the data directory: the starts of this incarnation, by which peers show that the directory is an old
 * copy (OwnStarts in packages/replication). A backup leaves it out: a server that starts from one is a new incarnation.
 */
const FILE = 'starts.json';
/** A start between two others that changed nothing is not kept, so these reach back as many starts with changes. */
const MAXIMUM_STARTS = 32;
/** Starts whose files are kept: the first since which nothing was sent, and the last ones. */
const MAXIMUM_HELD = 4;

/** A start, and from where on the log is that of its process. */
export interface SavedStart extends Start {
  readonly versions: readonly number[];
  /** Of a start that is held. */
  readonly place?: LogPlace;
}

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
  const versions = Array.from(present.versions);
  const before = load(directory, origin).filter(
    (start) =>
      start.versions.length === versions.length && start.versions.some((version, at) => version !== versions[at]),
  );
  // From now on this process gives versions of the present time: where a clock was ahead before, no gap reaches beyond.
  const gaps = before.map((start) => ({ ...start, nowMs: Math.min(start.nowMs, present.nowMs) }));
  const starts = limitHeld([...gaps, { ...present, versions }].slice(-MAXIMUM_STARTS));
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

function limitHeld(starts: readonly SavedStart[]): SavedStart[] {
  const held = starts.filter(({ isHeld }) => isHeld);
  const kept = new Set([...held.slice(0, 1), ...held.slice(1 - MAXIMUM_HELD)]);
  return starts.map((start) => (kept.has(start) ? start : released(start)));
}

function released({ nowMs, versions }: SavedStart): SavedStart {
  return { nowMs, versions };
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
