import { signal } from '@preact/signals';
import type { Catalogue, LimitEntry, LimitFigures } from '../../src/snapshot.js';
import { getJson, send } from './connection.js';
import { growth, knownRegions, sources } from './regions.js';
import { useWatch, type Watched } from './watch.js';

/** A catalogue can be a megabyte; it changes when people change it. */
const REFRESH_MS = 10_000;
const PATH = '/api/v1/limits';

/** How often this page has changed the catalogue: after each change it is read anew at once. */
const changes = signal(0);

/** The catalogue is one for all regions: any that answers has it. */
function base(): string {
  return knownRegions()[0]?.source.base ?? sources.value?.sources[0]?.base ?? '';
}

export function useCatalogue(): Watched<Catalogue> {
  return useWatch(`${changes.value}`, () => getJson<Catalogue>(`${base()}${PATH}`), undefined, REFRESH_MS);
}

export function pathOfLimit(name: string): string {
  return `${base()}${PATH}/named/${encodeURIComponent(name)}`;
}

export async function replaceCatalogue(catalogue: object): Promise<void> {
  await send('PUT', `${base()}${PATH}`, catalogue);
  changes.value++;
}

export async function setLimit(name: string, entry: object): Promise<void> {
  await send('PUT', pathOfLimit(name), entry);
  changes.value++;
}

export async function dropLimit(name: string): Promise<void> {
  await send('DELETE', pathOfLimit(name));
  changes.value++;
}

export interface LimitDecision {
  readonly allowed: boolean;
  readonly remaining: number;
  readonly retryAfterMs: number;
  readonly deniedBy: string | null;
  readonly limits: readonly {
    readonly name: string;
    readonly allowed: boolean;
    readonly limit: number;
    readonly remaining: number;
    readonly shadow: boolean;
  }[];
}

export function checkLimit(body: object): Promise<LimitDecision> {
  return send('POST', `${base()}${PATH}/check`, body);
}

/** The growth of a total of one limit, a second, in all regions that answer. */
export function limitRate(name: string, pick: (limit: LimitFigures) => number): number {
  return knownRegions().reduce((sum, { recent }) => {
    const grown = growth(recent, ({ limits }) => {
      const found = limits.find((limit) => limit.name === name);
      return found === undefined ? 0 : pick(found);
    });
    return sum + (grown ?? 0);
  }, 0);
}

export interface Denied {
  readonly limit: string;
  readonly subject: string;
  readonly perSecond: number;
}

/** Who is denied and by what, the most first, by limits that deny or by those in shadow; of all regions that answer. */
export function deniedSubjects(inShadow: boolean): Denied[] {
  const found = new Map<string, Denied>();
  for (const { snapshot } of knownRegions())
    for (const limit of snapshot.limits)
      for (const { subject, deniedPerSecond, isShadow } of limit.subjects) {
        if (isShadow !== inShadow) continue;
        const name = JSON.stringify([limit.name, subject]);
        const perSecond = (found.get(name)?.perSecond ?? 0) + deniedPerSecond;
        found.set(name, { limit: limit.name, subject, perSecond });
      }
  return [...found.values()].sort((one, other) => other.perSecond - one.perSecond);
}

/** All fields but the name, which the address has. */
export function withoutName({ name: _, ...rest }: LimitEntry): object {
  return rest;
}
