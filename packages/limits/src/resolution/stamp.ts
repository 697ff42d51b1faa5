import { type Override, settleOverrides } from '@quotadb/quota';
import type { Catalogue, LimitEntry, OverrideEntry } from '../catalogue/schema.js';
import { isFault, windowOf } from '../catalogue/window.js';
import { flattenOverrides, flattenUntilBegin } from './flatten.js';

/**
 * A catalogue as it is kept: an override that begins with the next window has the time from which that is, and each
 * limit with such an override has what holds until then. A catalogue that is loaded again begins nothing anew.
 */
export function stampCatalogue(given: Catalogue, before: Catalogue | undefined, nowMs: number): Catalogue {
  const former = new Map(before?.limits.map((entry) => [entry.name, entry]));
  const limits = given.limits.map((entry) => stampLimit(entry, former.get(entry.name), given, before, nowMs));
  return { ...given, limits };
}

function stampLimit(
  given: LimitEntry,
  former: LimitEntry | undefined,
  { plans }: Catalogue,
  before: Catalogue | undefined,
  nowMs: number,
): LimitEntry {
  const { settled: _, ...entry } = given;
  const overrides = entry.overrides?.map((override) => stampOverride(override, former, nowMs));
  const stamped = overrides === undefined ? entry : { ...entry, overrides };
  const known = former === undefined ? [] : settledOverrides(former, before?.plans);
  const flat = flattenOverrides(stamped, plans);
  if (![...flat, ...known].some(({ fromMs }) => fromMs !== undefined)) return stamped;
  const window = windowOf(entry);
  const windowMs = isFault(window) ? 0 : window.windowMs;
  const settled = [...settleOverrides(known, flat, windowMs, nowMs)];
  for (const override of flattenUntilBegin(stamped, plans))
    if (!settled.some(({ subject, fromMs }) => subject === override.subject && fromMs === undefined))
      settled.push(override);
  return settled.some(({ fromMs }) => fromMs !== undefined) ? { ...stamped, settled } : stamped;
}

function stampOverride(given: OverrideEntry, former: LimitEntry | undefined, nowMs: number): OverrideEntry {
  const { fromMs: _, ...override } = given;
  if (override.from !== 'next-window') return override;
  const same = former?.overrides?.find(
    ({ subject, plan, limit, from }) =>
      subject === override.subject && plan === override.plan && limit === override.limit && from === override.from,
  );
  // The window that begins at this very moment is not the next one.
  return { ...override, fromMs: same?.fromMs ?? nowMs + 1 };
}

/** The overrides of a limit by subject, with those that hold until the next window. */
export function settledOverrides(entry: LimitEntry, plans: Catalogue['plans']): readonly Override[] {
  return entry.settled ?? flattenOverrides(entry, plans);
}

/** A catalogue as its author wrote it. */
export function unstamp(catalogue: Catalogue): Catalogue {
  return { ...catalogue, limits: catalogue.limits.map(unstampLimit) };
}

export function unstampLimit({ settled: _, overrides, ...entry }: LimitEntry): LimitEntry {
  if (overrides === undefined) return entry;
  return { ...entry, overrides: overrides.map(({ fromMs: __, ...override }) => override) };
}
