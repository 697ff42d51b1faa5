import { Random } from '@quotadb/engine/testing';
import {
  addFaults,
  drawSteps,
  type FaultKind,
  insertAtRandom,
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
/** A region sends frames that it has no right to send. */
const ATTACKS = { forgePolicies: 2, forgeRequest: 1 } as const;
type AttackKind = keyof typeof ATTACKS;
export type QuotaStepKind = keyof typeof OPERATIONS | keyof typeof OPTIONAL | LeaseKind | AttackKind | FaultKind;

export interface QuotaPlan extends Plan<QuotaStepKind> {
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
}

export const LEASE_MS = 3000;
const LARGEST_LEASE_LIMIT = 12;
/** Long enough for windows of leases to begin and end within a schedule. */
const LEASE_SPACING_MS = 200;

/** Quotas have timeouts in real milliseconds, so their schedules have no other unit. */
const UNIT_MS = 1;
/** Faults that destroy tokens for good, or bring a region without a disk. */
const LOSSES: readonly FaultKind[] = ['loseDisk', 'join', 'leave'];

/** How many schedules have certificates and a hostile region; without certificates it could claim to be the home. */
const HOSTILE_SHARE = 0.3;
const MOST_ATTACKS = 8;

export function makeQuotaPlan(seed: number): QuotaPlan {
  const plan = makeFriendlyPlan(seed);
  const random = new Random(seed ^ 0xf0_4bed);
  if (!random.chance(HOSTILE_SHARE)) return plan;
  const drawn = drawSteps(random, new Map(Object.entries(ATTACKS) as [AttackKind, number][]), 10, MOST_ATTACKS);
  const numbered = drawn.map((step) => ({ ...step, index: plan.steps.length + step.index }));
  const steps = insertAtRandom(random, plan.steps, 1 + random.below(MOST_ATTACKS), (index) => numbered[index]);
  return { ...plan, isCertified: true, steps };
}

function makeFriendlyPlan(seed: number): QuotaPlan {
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
    steps: rare.insertInto(stepsOf(random, isLossless)),
  };
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

function stepsOf(random: Random, isLossless: boolean): QuotaPlan['steps'] {
  const weights = new Map<QuotaStepKind, number>(Object.entries(OPERATIONS) as [QuotaStepKind, number][]);
  const share = random.pick([0.5, 1]);
  for (const [kind, weight] of Object.entries(OPTIONAL) as [QuotaStepKind, number][])
    if (random.chance(share)) weights.set(kind, weight);
  addFaults(random, weights, isLossless ? LOSSES : []);
  return drawSteps(random, weights, random.pick([10, 40, 100]), 20 + random.below(100));
}
