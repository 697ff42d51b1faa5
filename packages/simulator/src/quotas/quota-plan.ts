import { Random } from '@quotadb/engine/testing';
import {
  addFaults,
  drawSteps,
  type FaultKind,
  networkOf,
  type Plan,
  REGION_NAMES,
  rareTroubleOf,
  settingsOf,
} from '../plan.js';

/** Weights: how often each kind of step is taken where the schedule has it at all. */
const OPERATIONS = { take: 30, takeAll: 5, peek: 2 } as const;
const OPTIONAL = { reserve: 12, commit: 8, cancel: 4, retry: 6, changeLimit: 2, defineAnew: 1 } as const;
export type QuotaStepKind = keyof typeof OPERATIONS | keyof typeof OPTIONAL | FaultKind;

export interface QuotaPlan extends Plan<QuotaStepKind> {
  readonly limit: number;
  /** 0 = for ever. */
  readonly windowMs: number;
  readonly subjects: readonly string[];
  readonly allocator: string;
  /** Some regions begin with a part of the limit. */
  readonly shares: readonly { readonly region: string; readonly fraction: number }[];
  /** Nothing can be lost for good: no memory, no disk, no region. */
  readonly isLossless: boolean;
}

/** Real ones: what quotas wait for is in milliseconds, whatever else is quick or slow. */
const UNIT_MS = 1;
/** Those that take for good what somebody held, or bring somebody without a disk. */
const LOSSES: readonly FaultKind[] = ['loseDisk', 'join', 'leave'];

export function makeQuotaPlan(seed: number): QuotaPlan {
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

function stepsOf(random: Random, isLossless: boolean): QuotaPlan['steps'] {
  const weights = new Map<QuotaStepKind, number>(Object.entries(OPERATIONS) as [QuotaStepKind, number][]);
  const share = random.pick([0.5, 1]);
  for (const [kind, weight] of Object.entries(OPTIONAL) as [QuotaStepKind, number][])
    if (random.chance(share)) weights.set(kind, weight);
  addFaults(random, weights, isLossless ? LOSSES : []);
  return drawSteps(random, weights, random.pick([10, 40, 100]), 20 + random.below(100));
}
