import { Random } from '@quotadb/engine/testing';
import {
  addFaults,
  drawSteps,
  type FaultKind,
  insertRareFaults,
  insertRestores,
  networkOf,
  type Plan,
  REGION_NAMES,
  rareTroubleOf,
  type Step,
  settingsOf,
} from '../world/plan.js';

/** Weights: how often each kind of step is drawn in a schedule that has it. */
const OPERATIONS = { add: 30, remove: 6, assign: 4, read: 8 } as const;
const EXPIRIES = { expire: 5, persist: 2, addWithExpiry: 6 } as const;
export type CounterStepKind = keyof typeof OPERATIONS | keyof typeof EXPIRIES | FaultKind;

export interface CounterPlan extends Plan<CounterStepKind> {
  readonly keys: readonly string[];
  readonly hasExpiry: boolean;
  readonly longestExpiryMs: number;
}

/** The order of the draws is part of the plan: another order would make another schedule of every seed. */
export function makeCounterPlan(seed: number): CounterPlan {
  const random = new Random(seed);
  const unitMs = random.pick([1, 1, 100]);
  const hasExpiry = random.chance(0.5);
  const skewBoundMs = random.pick([20, 100, 2000]) * unitMs;
  const diskShare = random.pick([0, 0.5, 1, 1]);
  const count = 2 + random.below(random.pick([2, 4]));
  const regions = REGION_NAMES.slice(0, count).map((region) => ({
    region,
    hasDisk: random.chance(diskShare),
    skewMs: Math.floor((random.next() * 2 - 1) * skewBoundMs),
  }));
  const keyCount = 1 + random.below(random.pick([2, 6, 16]));
  const rare = rareTroubleOf(seed);
  return {
    seed,
    regions,
    topology: random.pick(['mesh', 'mesh', 'hub', 'chain'] as const),
    isMutual: random.chance(0.7),
    shardCount: random.pick([1, 1, 2, 4]),
    keys: Array.from({ length: keyCount }, (_, index) => `k${index}${rare.keySuffix}`),
    unitMs,
    tickMs: random.pick([20, 50, 100]) * unitMs,
    redialMs: random.pick([50, 200, 500]) * unitMs,
    flushMs: random.pick([20, 100, 400]) * unitMs,
    settings: settingsOf(random, unitMs, skewBoundMs),
    network: networkOf(random, unitMs),
    disk: { writeMs: random.pick([0.1, 2, 20]) * unitMs, syncMs: random.pick([1, 10, 50]) * unitMs },
    hasExpiry,
    skewBoundMs,
    graceMs: 2 * skewBoundMs + random.pick([50, 1000]) * unitMs,
    longestExpiryMs: random.pick([500, 3000, 10_000]) * unitMs,
    isUnsynced: false,
    steps: insertRestores(seed, insertRareFaults(seed, rare.insertInto(stepsOf(random, unitMs, hasExpiry)))),
  };
}

function stepsOf(random: Random, unitMs: number, hasExpiry: boolean): Step<CounterStepKind>[] {
  const kinds = { ...OPERATIONS, ...(hasExpiry && EXPIRIES) };
  const weights = new Map<CounterStepKind, number>(Object.entries(kinds) as [CounterStepKind, number][]);
  addFaults(random, weights);
  return drawSteps(random, weights, random.pick([10, 40, 100]) * unitMs, 20 + random.below(100));
}
