import type { Override } from '@quotadb/quota';
import { type Catalogue, type LimitEntry, type OverrideEntry, UNLIMITED } from '../catalogue/schema.js';

/**
 * The overrides of a limit by subject, as the quotas have them: an exact subject outdoes a pattern, a longer pattern a
 * shorter one. The catalogue also has plans, which come after every override that names a subject; so each subject and
 * pattern that is named anywhere gets the limit that the catalogue's rules give to it:
 *
 *   1  the override for the subject
 *   2  the override for the longest pattern that it matches
 *   3  the override for its plan: the first in the document that names it, by subject or by pattern
 *   4  the limit itself
 *
 * A subject that is named nowhere has the limit of the longest pattern it matches: rules 2 to 4 give the same limit to
 * the pattern, because no longer pattern tells the two apart.
 */
export function flattenOverrides(entry: LimitEntry, plans: Catalogue['plans']): readonly Override[] {
  const { overrides = [] } = entry;
  if (overrides.length === 0) return [];
  const named = new Map(
    overrides.flatMap((override) => (override.subject === undefined ? [] : [[override.subject, override] as const])),
  );
  const ofPlans = new Map(
    overrides.flatMap((override) => (override.plan === undefined ? [] : [[override.plan, override] as const])),
  );
  const membership = ofPlans.size === 0 ? new Map<string, string>() : firstPlans(plans ?? {});
  const order = Object.keys(plans ?? {});
  const find = (subject: string): OverrideEntry | undefined => {
    const byName = named.get(subject) ?? longest(subject, named);
    if (byName !== undefined) return byName;
    const plan = planOf(subject, membership, order);
    return plan === undefined ? undefined : ofPlans.get(plan);
  };
  const everyone = new Set([...named.keys(), ...membership.keys()]);
  return [...everyone].map((subject) => {
    const { limit, fromMs } = find(subject) ?? { limit: entry.limit, fromMs: undefined };
    return { subject, limit: numberOf(limit), ...(fromMs !== undefined && { fromMs }) };
  });
}

/**
 * What subjects have until an override that outdoes the one of their plan begins with the next window. In the flat
 * overrides it has the place of the plan's, which therefore do not say what holds before.
 */
export function flattenUntilBegin(entry: LimitEntry, plans: Catalogue['plans']): readonly Override[] {
  const { overrides = [] } = entry;
  const now = overrides.filter(({ fromMs }) => fromMs === undefined);
  if (now.length === overrides.length) return [];
  const flat = flattenOverrides(entry, plans);
  const later = new Set(flat.filter(({ fromMs }) => fromMs !== undefined).map(({ subject }) => subject));
  return flattenOverrides({ ...entry, overrides: now }, plans).filter(({ subject }) => later.has(subject));
}

/** Unlimited is a number that no limit is. */
export function numberOf(limit: number | 'unlimited'): number {
  return limit === 'unlimited' ? UNLIMITED : limit;
}

/** By subject or pattern: the first plan that names it. */
function firstPlans(plans: NonNullable<Catalogue['plans']>): Map<string, string> {
  const membership = new Map<string, string>();
  for (const [plan, { subjects }] of Object.entries(plans))
    for (const subject of subjects) if (!membership.has(subject)) membership.set(subject, plan);
  return membership;
}

/** The entry of the longest pattern that a subject, or a longer pattern, matches. */
function longest<Found>(subject: string, entries: ReadonlyMap<string, Found>): Found | undefined {
  for (const pattern of patternsOf(subject)) {
    const found = entries.get(pattern);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The first plan of the document that names the subject or a pattern that it matches. */
function planOf(
  subject: string,
  membership: ReadonlyMap<string, string>,
  order: readonly string[],
): string | undefined {
  let first = order.length;
  for (const name of [subject, ...patternsOf(subject)]) {
    const plan = membership.get(name);
    if (plan !== undefined) first = Math.min(first, order.indexOf(plan));
  }
  return order[first];
}

/** Every pattern that a subject matches, the longest first; of a pattern, those that it begins with, itself too. */
function* patternsOf(subject: string): Iterable<string> {
  const literal = subject.endsWith('*') ? subject.slice(0, -1) : subject;
  for (let length = literal.length; length >= 0; length--) yield `${literal.slice(0, length)}*`;
}
