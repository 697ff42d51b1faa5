import { type PartialDefinition, USUAL_WAIT_MS } from '@quotadb/quota';
import type { Catalogue, LimitEntry } from '../catalogue/schema.js';
import { durationOf, type Fault, type LimitWindow, windowOf } from '../catalogue/window.js';
import { numberOf } from './flatten.js';
import { settledOverrides } from './stamp.js';

/** The quotas that a checked catalogue needs: one for each limit of the kinds exact and concurrency. */
export function definitionsOf(catalogue: Catalogue): readonly PartialDefinition[] {
  return catalogue.limits
    .filter(({ kind }) => kind === 'exact' || kind === 'concurrency')
    .map((entry) => definitionOf(entry, catalogue));
}

function definitionOf(entry: LimitEntry, { plans }: Catalogue): PartialDefinition {
  const { name, kind, limit, allocator, shares = {} } = entry;
  const overrides = settledOverrides(entry, plans);
  return {
    name,
    limit: numberOf(limit),
    ...(kind === 'concurrency' ? { windowMs: 0, leaseMs: millisecondsOf(entry.hold) } : knownWindow(entry)),
    allocator,
    shares: Object.entries(shares).map(([region, fraction]) => ({ region, fraction })),
    ...unreachableOf(entry),
    ...(overrides.length > 0 && { overrides }),
  };
}

function unreachableOf({ whenUnreachable }: LimitEntry): Pick<PartialDefinition, 'waitMs' | 'admitFraction'> {
  if (whenUnreachable === 'deny') return { waitMs: 0 };
  const { wait, admit } = whenUnreachable ?? {};
  const waitMs = wait === undefined ? USUAL_WAIT_MS : millisecondsOf(wait);
  return { waitMs, ...(admit !== undefined && { admitFraction: admit }) };
}

/** Of a limit that was checked. */
export function knownWindow(entry: LimitEntry): LimitWindow {
  const window: LimitWindow | Fault = windowOf(entry);
  if ('message' in window) throw new Error(`the limit ${entry.name} was not checked: ${window.message}`);
  return window;
}

function millisecondsOf(duration: string | number | undefined): number {
  const milliseconds = durationOf(duration ?? '');
  if (typeof milliseconds === 'string') throw new Error(`a duration was not checked: ${milliseconds}`);
  return milliseconds;
}
