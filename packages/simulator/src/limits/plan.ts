import { Random } from '@quotadb/engine/testing';
import type { Catalogue, LimitEntry } from '@quotadb/limits';
import { drawCalendar, makeFriendlyPlan, type QuotaPlan, type QuotaStepKind } from '../quotas/plan.js';
import { drawSteps, type FaultKind, insertAtRandom, type Step } from '../world/plan.js';

/** Weights: how often each kind of step is drawn beside those of the schedule of quotas. */
const STEPS = { check: 10, checkDomain: 10, override: 5, changeLimit: 3, toggle: 2 } as const;
/** Of leases, in schedules that have them. */
const LEASE_STEPS = { work: 8, workAgain: 3, endWork: 3 } as const;
export type LimitStepKind = keyof typeof STEPS | keyof typeof LEASE_STEPS | 'peek' | 'dropLimit' | FaultKind;

/** What stands in the place of the requests of a schedule of quotas. */
const IN_PLACE_OF: Partial<Record<QuotaStepKind, LimitStepKind>> = {
  take: 'check',
  takeAll: 'checkDomain',
  peek: 'peek',
  reserve: 'check',
  commit: 'check',
  cancel: 'checkDomain',
  retry: 'checkDomain',
  changeLimit: 'changeLimit',
  defineAnew: 'dropLimit',
};

export interface LimitPlan extends QuotaPlan<LimitStepKind> {
  /** The first one; operators change it. */
  readonly catalogue: Catalogue;
  /** The limits whose windows are of the calendar. */
  readonly ofCalendar: readonly string[];
  /** Limits on leases at once are in the catalogue, and clients take them. */
  readonly hasLeases: boolean;
}

/** A limit of users, under one of organisations, under one of all; and limits in shadow. */
export const USER = 'user';
export const TRIED = 'tried';
export const DOMAIN = 'api';
/** Leases of a subject, under those of its crew, and the tokens that are taken together with them. */
export const JOBS = 'jobs';
export const CREW = 'crew';
export const STARTS = 'starts';
export const WORK = 'work';
export const HOLD_MS = 2000;
const LEASE_SHARE = 0.4;
const MOST_AT_ONCE = 5;
/** Long enough for leases to begin and end within a schedule. */
const LEASE_SPACING_MS = 200;
const SPACING_MS = 50;
const SUBJECTS = ['acme/ann', 'acme/bob', 'zeta/ann', 'solo'];
const WINDOWS: Readonly<Record<number, string>> = { 2000: '2s', 60000: '1m', 3600000: '1h' };
const ENDLESS_WINDOW_MS = 3_600_000;

/** A schedule of quotas in which clients ask for limits of a catalogue, from a stream of its own. */
export function makeLimitPlan(seed: number): LimitPlan {
  const plan = makeFriendlyPlan(seed);
  const random = new Random(seed ^ 0x11_417);
  const drawn = drawSteps(random, new Map(Object.entries(STEPS) as [LimitStepKind, number][]), SPACING_MS, 40);
  const numbered = drawn.map((step) => ({ ...step, index: plan.steps.length + step.index }));
  const before = plan.steps.map(
    (step) => ({ ...step, kind: IN_PLACE_OF[step.kind] ?? step.kind }) as Step<LimitStepKind>,
  );
  const steps = insertAtRandom(random, before, 20 + random.below(20), (index) => numbered[index]);
  const windowMs = plan.windowMs || ENDLESS_WINDOW_MS;
  const calendar = random.chance(0.5) && drawCalendar(random);
  const ofCalendar = calendar ? random.pick([[USER], ['org'], [USER, 'org', TRIED]]) : [];
  const suffix = plan.subjects[0].slice(1);
  const subjects = SUBJECTS.slice(0, 1 + random.below(SUBJECTS.length)).map((name) => name + suffix);
  // Windows of the calendar end at their own moments, also where other windows are as long as `windowMs`.
  const world = { ...plan, ...calendar, windowMs, subjects, hasRoutes: true, steps, ofCalendar };
  return withLeases({ ...world, hasLeases: false, catalogue: drawCatalogue(world, random) });
}

/** From a stream of its own: schedules without leases are what they were before there were any. */
function withLeases(plan: LimitPlan): LimitPlan {
  const random = new Random(plan.seed ^ 0x1ea5_edc);
  if (!random.chance(LEASE_SHARE)) return plan;
  const { catalogue, limit, windowMs, steps: before } = plan;
  const atOnce = 1 + random.below(MOST_AT_ONCE);
  const [{ allocator, shares }] = catalogue.limits;
  const lease = { kind: 'concurrency', hold: `${HOLD_MS}ms`, allocator, shares } as const;
  const limits: LimitEntry[] = [
    { ...lease, name: JOBS, domain: WORK, parent: CREW, limit: atOnce },
    { ...lease, name: CREW, limit: Math.ceil(atOnce * random.pick([0.5, 1.5])) },
    { name: STARTS, kind: 'exact', domain: WORK, window: windowWord(windowMs), limit, allocator, shares },
  ];
  const weights = new Map(Object.entries(LEASE_STEPS) as [LimitStepKind, number][]);
  const drawn = drawSteps(random, weights, LEASE_SPACING_MS, 30 + random.below(40));
  const numbered = drawn.map((step) => ({ ...step, index: before.length + step.index }));
  const steps = insertAtRandom(random, before, numbered.length, (index) => numbered[index]);
  return { ...plan, hasLeases: true, steps, catalogue: { ...catalogue, limits: [...catalogue.limits, ...limits] } };
}

/** Also where the windows of other limits are of the calendar, and begin at other times. */
function windowWord(windowMs: number): string {
  return WINDOWS[windowMs] ?? '1h';
}

function drawCatalogue(plan: Omit<LimitPlan, 'catalogue' | 'hasLeases'>, random: Random): Catalogue {
  const { limit, subjects, ofCalendar, calendar, windowMs, shares, allocator } = plan;
  const windowOf = (name: string) =>
    calendar !== undefined && ofCalendar.includes(name)
      ? { window: calendar.unit, timeZone: calendar.timeZone, anchorDay: calendar.anchorDay }
      : { window: WINDOWS[windowMs] };
  const entry = (name: string, amount: number, more: Partial<LimitEntry> = {}): LimitEntry => ({
    name,
    kind: 'exact',
    limit: amount,
    ...windowOf(name),
    allocator,
    shares: Object.fromEntries(shares.map(({ region, fraction }) => [region, fraction])),
    ...more,
  });
  const admit = random.chance(0.2) && { whenUnreachable: { wait: '1s', admit: random.pick([0.1, 0.5]) } };
  const hasAll = random.chance(0.5);
  const limits = [
    entry(USER, limit, { domain: DOMAIN, parent: 'org', ...admit }),
    entry('org', Math.ceil(limit * random.pick([0.5, 1, 1.5])), {
      ...(hasAll && { parent: 'all' }),
      shadow: random.chance(0.2),
    }),
    ...(hasAll ? [entry('all', 2 * limit)] : []),
    ...(random.chance(0.8) ? [entry(TRIED, 1 + random.below(limit), { domain: DOMAIN, shadow: true })] : []),
  ];
  return { plans: { pro: { subjects: [subjects[0], 'zeta*'] } }, limits };
}
