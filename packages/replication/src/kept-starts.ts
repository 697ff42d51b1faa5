import type { Start } from './own-starts.js';

/** A start between two others that changed nothing is not kept, so these reach back as many starts with changes. */
const MAXIMUM_STARTS = 32;
/** Starts whose files are kept: the first since which nothing was sent, and the last ones. */
const MAXIMUM_HELD = 4;

/** A start as its disk keeps it. */
export interface KeptStart<Place> extends Start {
  readonly versions: readonly number[];
  /** Of a start that is held: from where on the log is that of its process. */
  readonly place?: Place;
}

/** The starts to keep from now on: those before, and the present one. */
export function withPresent<Place>(
  before: readonly KeptStart<Place>[],
  present: KeptStart<Place>,
): readonly KeptStart<Place>[] {
  const { versions } = present;
  const changed = before.filter(
    (start) =>
      start.versions.length === versions.length && start.versions.some((version, at) => version !== versions[at]),
  );
  // From now on this process gives versions of the present time: where a clock was ahead before, no gap reaches beyond.
  const gaps = changed.map((start) => ({ ...start, nowMs: Math.min(start.nowMs, present.nowMs) }));
  return limitHeld([...gaps, present].slice(-MAXIMUM_STARTS));
}

/** Changes that were made since this start may be sent. */
export function released<Place>({ nowMs, versions }: KeptStart<Place>): KeptStart<Place> {
  return { nowMs, versions };
}

function limitHeld<Place>(starts: readonly KeptStart<Place>[]): KeptStart<Place>[] {
  const held = starts.filter(({ isHeld }) => isHeld);
  const kept = new Set([...held.slice(0, 1), ...held.slice(1 - MAXIMUM_HELD)]);
  return starts.map((start) => (kept.has(start) ? start : released(start)));
}
