import { MAXIMUM_LEASE_MS, MAXIMUM_WAIT_MS } from '@quotadb/quota';
import { bucketOf } from '@quotadb/rate';
import { type Mistake, quote } from '@quotadb/wire/documents';
import { MAXIMUM_ITEMS } from '../decision/decision.js';
import { type Catalogue, type LimitEntry, MAXIMUM_SUBJECTS, type OverrideEntry } from './schema.js';
import { durationOf, isFault, windowOf } from './window.js';

/** The longest way from a limit to the top of its parents. */
const MAXIMUM_DEPTH = 8;

/** Every region keeps them all in memory, and sends them in one frame. */
const MAXIMUM_OVERRIDES_OF_ALL = 50_000;

/** Adds a mistake about a field of the limit that is looked at. */
type Add = (field: string | readonly (string | number)[], message: string) => void;

/** What the schema cannot see: fields of the wrong kind, and what one limit says about others. */
export function findRuleMistakes(catalogue: Catalogue): Mistake[] {
  const mistakes: Mistake[] = [];
  const byName = new Map<string, LimitEntry>();
  for (const [index, entry] of catalogue.limits.entries()) {
    const add: Add = (field, message) =>
      mistakes.push({ path: ['limits', index, ...(typeof field === 'string' ? [field] : field)], message });
    if (byName.has(entry.name)) add('name', `there are two limits of the name ${quote(entry.name)}`);
    byName.set(entry.name, entry);
    checkFields(entry, add);
    checkOverrides(entry, catalogue, add);
  }
  const { plans = {}, limits } = catalogue;
  const flat = limits.reduce((sum, { overrides = [] }) => sum + flatSize(overrides, plans), 0);
  if (flat > MAXIMUM_OVERRIDES_OF_ALL)
    mistakes.push({
      path: ['limits'],
      message:
        `all limits together have ${flat} overrides, those of plans for each of their ` +
        `subjects: at most ${MAXIMUM_OVERRIDES_OF_ALL}`,
    });
  for (const [index, entry] of catalogue.limits.entries()) {
    const add: Add = (field, message) => mistakes.push({ path: ['limits', index, String(field)], message });
    checkParents(entry, byName, add);
    checkDomain(entry, catalogue, byName, add);
  }
  return mistakes;
}

function checkFields(entry: LimitEntry, add: Add): void {
  const { kind, burst, hold, starts, ends, limit } = entry;
  const isQuota = kind === 'exact' || kind === 'concurrency';
  if (kind === 'concurrency') {
    for (const field of ['window', 'timeZone', 'anchorDay'] as const)
      if (entry[field] !== undefined) add(field, 'a limit of kind concurrency has none: it limits leases held at once');
    if (limit === 'unlimited') add('limit', 'a limit of kind concurrency is a number');
    checkHold(hold, add);
  } else {
    const window = windowOf(entry);
    if (isFault(window)) add(window.field, window.message);
    else if (kind === 'bucket') checkBucket(entry, window.windowMs, add);
    if (hold !== undefined) add('hold', `only a limit of kind concurrency has it, not one of kind ${kind}`);
    if (isFault(window) || window.windowMs > 0) checkUnreachable(entry, add);
    else if (typeof entry.whenUnreachable === 'object' && entry.whenUnreachable.admit !== undefined)
      add('whenUnreachable', 'only of a limit with a window can a region admit a part alone');
  }
  if (burst !== undefined && kind !== 'bucket')
    add('burst', `only a limit of kind bucket has it, not one of kind ${kind}`);
  for (const field of ['whenUnreachable', 'allocator', 'shares'] as const)
    if (entry[field] !== undefined && !isQuota)
      add(field, `only limits of the kinds exact and concurrency have it, not one of kind ${kind}`);
  if (starts !== undefined && ends !== undefined && Date.parse(starts) >= Date.parse(ends))
    add('ends', `it ends at ${ends}, which is not after its start, ${starts}`);
}

function checkHold(hold: string | number | undefined, add: Add): void {
  const holdMs =
    hold === undefined ? 'a limit of kind concurrency has it: the longest time of a lease' : durationOf(hold);
  if (typeof holdMs === 'string') add('hold', holdMs);
  else if (holdMs < 1 || holdMs > MAXIMUM_LEASE_MS) add('hold', `${quote(hold)} is not 1 ms to 1 day long`);
}

function checkBucket({ limit, burst, overrides = [] }: LimitEntry, windowMs: number, add: Add): void {
  const check = (amount: number | 'unlimited', path: readonly (string | number)[]) => {
    if (amount === 'unlimited' || amount === 0 || bucketOf((burst ?? amount) - 1, amount, windowMs) !== undefined)
      return;
    add(path, `a bucket of ${burst ?? amount} that gets ${amount} in ${windowMs} ms cannot be worked with exactly`);
  };
  check(limit, ['limit']);
  for (const [index, override] of overrides.entries()) check(override.limit, ['overrides', index, 'limit']);
}

function checkUnreachable({ whenUnreachable }: LimitEntry, add: Add): void {
  if (typeof whenUnreachable !== 'object' || whenUnreachable.wait === undefined) return;
  const waitMs = durationOf(whenUnreachable.wait);
  if (typeof waitMs === 'string') add(['whenUnreachable', 'wait'], waitMs);
  else if (waitMs > MAXIMUM_WAIT_MS) add(['whenUnreachable', 'wait'], `a caller waits at most an hour`);
}

function checkOverrides({ overrides = [], window, kind }: LimitEntry, { plans = {} }: Catalogue, add: Add): void {
  const seen = new Set<string>();
  for (const [index, { subject, plan, from }] of overrides.entries()) {
    const at = (field: keyof OverrideEntry) => ['overrides', index, field] as const;
    if ((subject === undefined) === (plan === undefined))
      add(['overrides', index], 'an override is for a subject or for a plan: it names one of them');
    else {
      const field = plan === undefined ? 'subject' : 'plan';
      const selector = `${field} ${quote(subject ?? plan)}`;
      if (seen.has(selector)) add(at(field), `there are two overrides for ${selector}`);
      seen.add(selector);
    }
    if (plan !== undefined && plans[plan] === undefined)
      add(at('plan'), `there is no plan ${quote(plan)}: ${listed(plans)}`);
    if (from === 'next-window' && (window === 'none' || kind === 'concurrency'))
      add(at('from'), 'the limit has no windows: leave it out, and the override holds at once');
  }
  if (flatSize(overrides, plans) > MAXIMUM_SUBJECTS)
    add('overrides', `with the subjects of plans there are more than ${MAXIMUM_SUBJECTS}`);
}

/** How many subjects and patterns a limit has overrides for. */
function flatSize(overrides: readonly OverrideEntry[], plans: NonNullable<Catalogue['plans']>): number {
  const inPlans = Object.values(plans).reduce((sum, { subjects }) => sum + subjects.length, 0);
  const hasPlan = overrides.some(({ plan }) => plan !== undefined);
  return overrides.length + (hasPlan ? inPlans : 0);
}

function checkParents(entry: LimitEntry, byName: ReadonlyMap<string, LimitEntry>, add: Add): void {
  if (entry.parent === undefined) return;
  const parent = byName.get(entry.parent);
  const chain = chainOf(entry, byName);
  if (parent === undefined) add('parent', `there is no limit ${quote(entry.parent)}`);
  else if (chain === undefined) add('parent', `${quote(entry.name)} is among its own parents`);
  else if (chain.length > MAXIMUM_DEPTH)
    add('parent', `${quote(entry.name)} has ${chain.length - 1} parents above it: at most ${MAXIMUM_DEPTH - 1}`);
}

/** A limit and its parents, the nearest first; undefined where they go round in a circle. */
export function chainOf(entry: LimitEntry, byName: ReadonlyMap<string, LimitEntry>): readonly LimitEntry[] | undefined {
  const chain = new Set<LimitEntry>();
  for (let at: LimitEntry | undefined = entry; at !== undefined; at = byName.get(at.parent ?? '')) {
    if (chain.has(at)) return undefined;
    chain.add(at);
  }
  return [...chain];
}

function checkDomain(
  entry: LimitEntry,
  { limits }: Catalogue,
  byName: ReadonlyMap<string, LimitEntry>,
  add: Add,
): void {
  const { domain } = entry;
  if (domain === undefined) return;
  if (byName.has(domain)) add('domain', `${quote(domain)} is the name of a limit: a check could mean either`);
  const members = limits.filter((other) => other.domain === domain);
  if (members[0] !== entry) return;
  const items = members.reduce((sum, member) => sum + (chainOf(member, byName)?.length ?? 0), 0);
  if (items > MAXIMUM_ITEMS)
    add(
      'domain',
      `${quote(domain)} has ${items} limits with their parents: at most ${MAXIMUM_ITEMS} are checked at once`,
    );
}

function listed(plans: Readonly<Record<string, unknown>>): string {
  const names = Object.keys(plans);
  return names.length === 0 ? 'no plans are defined' : `the plans are ${names.slice(0, 20).join(', ')}`;
}
