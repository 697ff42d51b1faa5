import type { Catalogue, LimitEntry } from '@quotadb/limits';

/** A limit that a request must be checked against, by the rules of the guide. */
export interface Expected {
  readonly name: string;
  readonly subject: string;
  readonly shadow: boolean;
}

/** The limits of a name or a domain with their parents, each for its subject: written anew, from the guide alone. */
export function expectedOf({ limits }: Catalogue, name: string, subject: string): Expected[] {
  const expected = new Map<string, Expected>();
  for (const entry of limits) {
    if (entry.name !== name && entry.domain !== name) continue;
    let at: LimitEntry | undefined = entry;
    for (let parts = subject; at !== undefined; parts = parts.split('/').slice(0, -1).join('/')) {
      const { name: of, shadow = false, enabled = true, parent }: LimitEntry = at;
      if (enabled) expected.set(`${of} ${parts}`, { name: of, subject: parts, shadow });
      at = limits.find((other) => other.name === parent);
    }
  }
  return [...expected.values()];
}

/** One version of a limit, and since when its overrides that wait for the next window are there. */
export interface Rule {
  readonly entry: LimitEntry;
  readonly plans: Catalogue['plans'];
  /** By selector: the moment, and what held before. */
  readonly later: ReadonlyMap<string, { readonly sinceMs: number; readonly before: Rule | undefined }>;
}

export function ruleOf(entry: LimitEntry, plans: Catalogue['plans'], before: Rule | undefined, nowMs: number): Rule {
  const later = new Map<string, { readonly sinceMs: number; readonly before: Rule | undefined }>();
  for (const { subject, limit, from } of entry.overrides ?? []) {
    if (subject === undefined || from !== 'next-window') continue;
    const same = before?.entry.overrides?.find((other) => other.subject === subject);
    const isSame = same?.limit === limit && same?.from === from;
    later.set(subject, (isSame && before?.later.get(subject)) || { sinceMs: nowMs, before });
  }
  return { entry, plans, later };
}

/** The limit of a subject in a window that begins then: subject, longest pattern, plan, the limit itself. */
export function limitByRule(rule: Rule, subject: string, startMs: number): number {
  const { entry, plans = {} } = rule;
  const { overrides = [] } = entry;
  const matches = (selector: string) =>
    selector.endsWith('*') ? subject.startsWith(selector.slice(0, -1)) : selector === subject;
  const exactness = (selector: string) => (selector.endsWith('*') ? selector.length : Number.POSITIVE_INFINITY);
  const selectors = overrides.flatMap((override) => override.subject ?? []).filter(matches);
  for (const selector of selectors.toSorted((one, other) => exactness(other) - exactness(one))) {
    const limit = limitOfSelector(rule, selector, startMs);
    if (limit !== undefined) return limit;
  }
  const plan = Object.entries(plans).find(([, { subjects }]) => subjects.some(matches))?.[0];
  const ofPlan = overrides.find((override) => override.plan !== undefined && override.plan === plan);
  return (ofPlan?.limit ?? entry.limit) as number;
}

/** Until the next window begins, an override is what it was before; undefined where there was none. */
function limitOfSelector({ entry, later }: Rule, selector: string, startMs: number): number | undefined {
  const waiting = later.get(selector);
  if (waiting !== undefined && startMs <= waiting.sinceMs)
    return waiting.before && limitOfSelector(waiting.before, selector, startMs);
  return entry.overrides?.find(({ subject }) => subject === selector)?.limit as number | undefined;
}

/** Whether a limit of this subject is about to change with the next window. */
export function isWaiting({ later }: Rule, startMs: number): boolean {
  return [...later.values()].some(({ sinceMs }) => startMs <= sinceMs);
}
