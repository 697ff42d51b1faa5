import { Random } from '@quotadb/engine/testing';
import { type Calendar, type CalendarUnit, calendarWindowMs } from '@quotadb/quota';
import {
  addFaults,
  drawSteps,
  type FaultKind,
  insertAtRandom,
  insertRareFaults,
  networkOf,
  type Plan,
  REGION_NAMES,
  rareTroubleOf,
  settingsOf,
} from '../world/plan.js';

/** Weights: how often each kind of step is drawn in a schedule that has it. */
const OPERATIONS = { take: 30, takeAll: 5, peek: 2 } as const;
const OPTIONAL = { reserve: 12, commit: 8, cancel: 4, retry: 6, changeLimit: 2, defineAnew: 1 } as const;
const LEASES = { acquire: 6, renew: 2, release: 2 } as const;
type LeaseKind = keyof typeof LEASES;
/** An operator changes the tokens of subjects. */
const ADJUSTMENTS = { override: 4, extra: 3, repeatExtra: 2, refund: 3, take: 4 } as const;
type AdjustmentKind = keyof typeof ADJUSTMENTS;
/** Regions are cut off for long; in schedules in which they may admit a part of the limit alone. */
const CUT_OFF = { isolate: 3, take: 10, killProcess: 2 } as const;
type CutOffKind = keyof typeof CUT_OFF;
/** Members of a region join, are cut off and die; in schedules of members. */
const MEMBERS = { join: 3, isolate: 10, killProcess: 2, leave: 1, take: 14 } as const;
type MemberKind = keyof typeof MEMBERS;
/** A region sends frames that it has no right to send. */
const ATTACKS = { forgePolicies: 2, forgeRequest: 1 } as const;
type AttackKind = keyof typeof ATTACKS;
/** An operator re-mints what a region has lost; in schedules of quotas without a window that lose disks. */
const REPAIRS = { loseDisk: 1, remint: 4, take: 6 } as const;
type RepairKind = keyof typeof REPAIRS;
export type QuotaStepKind =
  | RepairKind
  | keyof typeof OPERATIONS
  | keyof typeof OPTIONAL
  | LeaseKind
  | AdjustmentKind
  | AttackKind
  | MemberKind
  | FaultKind;

export interface QuotaPlan<Kind extends string = QuotaStepKind> extends Plan<Kind> {
  readonly limit: number;
  /** 0 = for ever. */
  readonly windowMs: number;
  readonly subjects: readonly string[];
  readonly allocator: string;
  /** Some regions begin with a part of the limit. */
  readonly shares: readonly { readonly region: string; readonly fraction: number }[];
  /** No node loses its state for good: no memory, no disk, no region. */
  readonly isLossless: boolean;
  /** The limit of the policy with leases, in schedules of leases. */
  readonly leaseLimit?: number;
  /** Regions forward requests for tokens. Older seeds are of schedules without that. */
  readonly hasRoutes?: boolean;
  /** Regions have certificates, and some of them send frames that they have no right to send. */
  readonly isCertified?: boolean;
  /** Windows of the calendar, and the moment within the schedule at which one ends and the next begins. */
  readonly calendar?: Calendar;
  readonly boundaryMs?: number;
  /** The part of the limit that a region which is cut off admits alone. */
  readonly admitFraction?: number;
}

export const LEASE_MS = 3000;
const LARGEST_LEASE_LIMIT = 12;
/** Long enough for windows of leases to begin and end within a schedule. */
const LEASE_SPACING_MS = 200;

/** Quotas have timeouts in real milliseconds, so their schedules have no other unit. */
const UNIT_MS = 1;
/** Faults that destroy tokens for good, or bring a region without a disk. */
const LOSSES: readonly FaultKind[] = ['loseDisk', 'join', 'leave', 'startAhead', 'loseLog', 'twin'];

/** A home without a disk learns of its policies from any region, also from one that has none: a twin that is new. */
function withoutOf(isLossless: boolean, hasHomeDisk: boolean): readonly FaultKind[] {
  if (isLossless) return LOSSES;
  return hasHomeDisk ? ['startAhead'] : ['startAhead', 'twin'];
}

/** How many schedules have certificates and a hostile region; without certificates it could claim to be the home. */
const HOSTILE_SHARE = 0.3;
const MOST_ATTACKS = 8;

const REPAIR_STEPS = 40;
/** Regions have to connect again before tokens can be re-minted. */
const REPAIR_SPACING_MS = 300;

export function makeQuotaPlan(seed: number): QuotaPlan {
  const plan = withRepairs(makeFriendlyPlan(seed));
  const random = new Random(seed ^ 0xf0_4bed);
  if (!random.chance(HOSTILE_SHARE)) return plan;
  const drawn = drawSteps(random, new Map(Object.entries(ATTACKS) as [AttackKind, number][]), 10, MOST_ATTACKS);
  const numbered = drawn.map((step) => ({ ...step, index: plan.steps.length + step.index }));
  const steps = insertAtRandom(random, plan.steps, 1 + random.below(MOST_ATTACKS), (index) => numbered[index]);
  return { ...plan, isCertified: true, steps };
}

/** Without a hostile region. */
export function makeFriendlyPlan(seed: number): QuotaPlan {
  const random = new Random(seed);
  const isLossless = random.chance(0.3);
  const skewBoundMs = random.pick([20, 100, 1000]);
  const diskShare = isLossless ? 1 : random.pick([0, 0.5, 1, 1]);
  const regions = REGION_NAMES.slice(0, 2 + random.below(4)).map((region) => ({
    region,
    hasDisk: random.chance(diskShare),
    skewMs: Math.floor((random.next() * 2 - 1) * skewBoundMs),
  }));
  const allocator = random.pick(regions);
  const rare = rareTroubleOf(seed);
  return {
    seed,
    regions,
    topology: random.pick(['mesh', 'mesh', 'mesh', 'hub', 'chain'] as const),
    isMutual: true,
    shardCount: random.pick([1, 2]),
    unitMs: UNIT_MS,
    tickMs: random.pick([10, 20, 50]),
    redialMs: random.pick([50, 200, 500]),
    flushMs: random.pick([20, 100, 400]),
    settings: settingsOf(random, UNIT_MS, skewBoundMs),
    network: networkOf(random, UNIT_MS),
    disk: { writeMs: random.pick([0.1, 2, 20]), syncMs: random.pick([1, 10, 50]) },
    skewBoundMs,
    graceMs: 4 * skewBoundMs + random.pick([50, 1000]),
    isLossless,
    limit: random.pick([1 + random.below(30), 100, 1000]),
    windowMs: random.pick(allocator.hasDisk ? [2000, 60_000, 3_600_000, 0] : [2000, 60_000, 3_600_000]),
    subjects: ['s', 't', 'u'].slice(0, 1 + random.below(3)).map((subject) => subject + rare.keySuffix.slice(0, 1000)),
    allocator: allocator.region,
    shares: random.chance(0.2) ? [{ region: random.pick(regions).region, fraction: random.pick([0.1, 0.5, 1]) }] : [],
    isUnsynced: false,
    steps: insertRareFaults(
      seed,
      rare.insertInto(stepsOf(random, isLossless)),
      withoutOf(isLossless, regions[0].hasDisk),
    ),
  };
}

function withRepairs(plan: QuotaPlan): QuotaPlan {
  if (plan.windowMs > 0 || plan.isLossless) return plan;
  const random = new Random(plan.seed ^ 0x3e_3147);
  const weights = new Map(Object.entries(REPAIRS) as [RepairKind, number][]);
  const drawn = drawSteps(random, weights, REPAIR_SPACING_MS, REPAIR_STEPS);
  const numbered = drawn.map((step) => ({ ...step, index: plan.steps.length + step.index }));
  return { ...plan, steps: insertAtRandom(random, plan.steps, numbered.length, (index) => numbered[index]) };
}

/** A schedule of quotas with leases among its steps, from a stream of their own. */
export function makeLeasePlan(seed: number): QuotaPlan {
  const plan = makeQuotaPlan(seed);
  const random = new Random(seed ^ 0x1ea5e);
  const leaseLimit = 1 + random.below(LARGEST_LEASE_LIMIT);
  const weights = new Map(Object.entries(LEASES) as [LeaseKind, number][]);
  const drawn = drawSteps(random, weights, LEASE_SPACING_MS, 30 + random.below(60));
  const numbered = drawn.map((step) => ({ ...step, index: plan.steps.length + step.index }));
  const steps = insertAtRandom(random, plan.steps, numbered.length, (index) => numbered[index]);
  return { ...plan, leaseLimit, hasRoutes: true, steps };
}

/**
 * Moments at which a window of the calendar ends, of days and hours of unusual length too: from almanacs, not from
 * code.
 */
const BOUNDARIES: readonly (readonly [unit: CalendarUnit, timeZone: string, anchorDay: number, at: string])[] = [
  ['day', 'Europe/Berlin', 1, '2026-03-28T23:00Z'],
  ['day', 'Europe/Berlin', 1, '2026-03-29T22:00Z'],
  ['day', 'Europe/Berlin', 1, '2026-10-25T23:00Z'],
  ['day', 'Africa/Cairo', 1, '2026-04-23T22:00Z'],
  ['day', 'America/Santiago', 1, '2026-09-06T04:00Z'],
  ['hour', 'Australia/Lord_Howe', 1, '2026-04-04T15:00Z'],
  ['hour', 'Australia/Lord_Howe', 1, '2026-10-03T15:30Z'],
  ['hour', 'Europe/Berlin', 1, '2026-10-25T01:00Z'],
  ['week', 'America/New_York', 7, '2026-03-08T05:00Z'],
  ['month', 'UTC', 31, '2026-02-28T00:00Z'],
];
const LONGEST_BEFORE_MS = 6000;
const ADJUSTMENT_SPACING_MS = 60;
/** Longer than a region needs to see that another is silent, together with a few others. */
const CUT_OFF_SPACING_MS = 300;

/** A schedule of quotas with overrides, extra tokens, refunds and calendars, from a stream of its own. */
export function makeAdjustmentPlan(seed: number): QuotaPlan {
  const plan = makeQuotaPlan(seed);
  const random = new Random(seed ^ 0xad_1057);
  const weights = new Map(Object.entries(ADJUSTMENTS) as [AdjustmentKind, number][]);
  const drawn = drawSteps(random, weights, ADJUSTMENT_SPACING_MS, 20 + random.below(50));
  const numbered = drawn.map((step) => ({ ...step, index: plan.steps.length + step.index }));
  const steps = insertAtRandom(random, plan.steps, numbered.length, (index) => numbered[index]);
  const hasWindows = plan.windowMs > 0;
  const admit = hasWindows && random.chance(0.4) && { admitFraction: random.pick([0.1, 0.5]) };
  const adjusted = { ...plan, ...admit, hasRoutes: true, steps: admit ? [...steps, ...cutOff(random, steps)] : steps };
  return hasWindows && random.chance(0.6) ? { ...adjusted, ...drawCalendar(random) } : adjusted;
}

/** A schedule in which a window of the calendar ends. */
export function drawCalendar(random: Random) {
  const [unit, timeZone, anchorDay, at] = random.pick(BOUNDARIES);
  const calendar = { unit, timeZone, anchorDay };
  const boundaryMs = Date.parse(at);
  const startMs = boundaryMs - random.below(LONGEST_BEFORE_MS);
  return { calendar, windowMs: calendarWindowMs(calendar), boundaryMs, startMs };
}

/** The region that has members, and the names that two regions of the plan have in it. */
const DIVIDED = 'ap';
const MEMBER_STEPS = 30;
const MEMBER_SPACING_MS = 250;
const MEMBER_SKEW_MS = 20;

/**
 * A schedule of quotas in which one region has members: its home is one of them, or a lone server that others join.
 * Tokens are of the whole region. Members join, are cut off while the division changes, and die.
 */
export function makeMemberPlan(seed: number): QuotaPlan {
  const plan = makeQuotaPlan(seed);
  const random = new Random(seed ^ 0x3e_3be5);
  // Few, so that there is room for those that join.
  const [home, second, ...others] = plan.regions.slice(0, 3);
  const first = random.chance(0.3) ? DIVIDED : `${DIVIDED}/a`;
  // A home that forgets its policies and defines them anew within a second gives their numbers again.
  const regions = [{ ...home, region: first, hasDisk: true }, { ...second, region: `${DIVIDED}/b` }, ...others];
  const allocator = random.chance(0.7) || plan.windowMs === 0 ? DIVIDED : (others[0]?.region ?? DIVIDED);
  const shares = random.chance(0.3) ? [{ region: DIVIDED, fraction: random.pick([0.3, 1]) }] : [];
  const weights = new Map(Object.entries(MEMBERS) as [MemberKind, number][]);
  const drawn = drawSteps(random, weights, MEMBER_SPACING_MS, MEMBER_STEPS);
  const numbered = drawn.map((step) => ({ ...step, index: plan.steps.length + step.index }));
  // Two servers of one name that are cut off from each other both start its allotments: a known gap, and here are many
  // cuts.
  const kept = plan.steps.filter(({ kind }) => kind !== 'loseDisk' && kind !== 'twin');
  const steps = insertAtRandom(random, kept, numbered.length, (index) => numbered[index]);
  const topology = random.chance(0.8) ? 'mesh' : plan.topology;
  // A member that joins or leaves has tokens that cannot all be had in the window.
  const members = {
    regions,
    allocator,
    shares,
    steps,
    topology,
    isLossless: false,
    joinPrefix: `${DIVIDED}/`,
  } as const;
  // Windows begin often, so that many begin around a change of the division.
  const windowMs = plan.windowMs === 0 ? 0 : random.pick([500, 500, 2000, plan.windowMs]);
  // Clocks differ little, so that windows which no server can have touched begin soon after a change.
  const skewBoundMs = Math.min(plan.skewBoundMs, MEMBER_SKEW_MS);
  const near = regions.map((region) => ({ ...region, skewMs: region.skewMs % MEMBER_SKEW_MS }));
  return { ...plan, ...members, regions: near, skewBoundMs, windowMs };
}

function cutOff(random: Random, before: readonly unknown[]): QuotaPlan['steps'] {
  const weights = new Map(Object.entries(CUT_OFF) as [CutOffKind, number][]);
  const drawn = drawSteps(random, weights, CUT_OFF_SPACING_MS, 20 + random.below(30));
  return drawn.map((step) => ({ ...step, index: before.length + step.index }));
}

function stepsOf(random: Random, isLossless: boolean): QuotaPlan['steps'] {
  const weights = new Map<QuotaStepKind, number>(Object.entries(OPERATIONS) as [QuotaStepKind, number][]);
  const share = random.pick([0.5, 1]);
  for (const [kind, weight] of Object.entries(OPTIONAL) as [QuotaStepKind, number][])
    if (random.chance(share)) weights.set(kind, weight);
  addFaults(random, weights, isLossless ? LOSSES : []);
  return drawSteps(random, weights, random.pick([10, 40, 100]), 20 + random.below(100));
}
