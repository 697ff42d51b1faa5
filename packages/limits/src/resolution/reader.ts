import type { CatalogueReader } from '@quotadb/quota';
import { quote } from '@quotadb/wire/documents';
import { CatalogueError } from '../catalogue/mistakes.js';
import { checkCatalogue } from '../catalogue/read.js';
import { type Catalogue, EMPTY_CATALOGUE, type LimitEntry } from '../catalogue/schema.js';
import { definitionsOf } from './definitions.js';
import { stampCatalogue, unstamp } from './stamp.js';

/** A change of the catalogue, as it travels to the home of policies. */
export type CatalogueChange =
  | { readonly replace: Catalogue }
  /** Adds a limit, or takes the place of the one of its name. */
  | { readonly set: LimitEntry }
  | { readonly drop: string };

/** What the book of policies needs to know about catalogues. */
export const catalogueReader: CatalogueReader = {
  check: (given) => void checkCatalogue(given),
  apply: (change, before, nowMs) => applyChange(change as CatalogueChange, before as Catalogue | undefined, nowMs),
  definitionsOf: (given) => definitionsOf(given as Catalogue),
  written: (given) => unstamp(given as Catalogue),
};

/** Throws a CatalogueError where the change is none, or the catalogue would have mistakes with it. */
export function applyChange(change: CatalogueChange, before: Catalogue | undefined, nowMs: number): Catalogue {
  return stampCatalogue(checkCatalogue(changed(change, unstamp(before ?? EMPTY_CATALOGUE))), before, nowMs);
}

function changed(change: CatalogueChange, before: Catalogue): unknown {
  if (typeof change !== 'object') throw noChange(change);
  if ('replace' in change) return change.replace;
  if ('set' in change) {
    const { limits } = before;
    const name = (change.set as Partial<LimitEntry> | null)?.name;
    const index = limits.findIndex((entry) => entry.name === name);
    return { ...before, limits: index === -1 ? [...limits, change.set] : limits.with(index, change.set) };
  }
  if (!('drop' in change)) throw noChange(change);
  const limits = before.limits.filter(({ name }) => name !== change.drop);
  if (limits.length < before.limits.length) return { ...before, limits };
  throw new CatalogueError([{ path: [], message: `there is no limit ${quote(change.drop)}` }]);
}

function noChange(change: unknown): CatalogueError {
  return new CatalogueError([{ path: [], message: `this is no change of the catalogue: ${quote(change)}` }]);
}
