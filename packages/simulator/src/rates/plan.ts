import { Random } from '@quotadb/engine/testing';
import { addFaults, drawSteps, type FaultKind, networkOf, type Plan, REGION_NAMES, settingsOf } from '../world/plan.js';

/** Weights: how often each kind of step is drawn. `sleep` lets windows pass without requests. */
const OPERATIONS = { request: 120, sleep: 3 } as const;
export type RateStepKind = keyof typeof OPERATIONS | FaultKind;

export interface RatePlan extends Plan<RateStepKind> {
  readonly keys: readonly string[];
  readonly limit: number;
  readonly windowMs: number;
  readonly publishPercent: number;
}

/** Nodes have no disks, so that a node that starts again is a new incarnation, whose unpublished counts are its own. */
const DISK_FAULTS: readonly FaultKind[] = ['loseDisk', 'failDisk', 'snapshot', 'join'];
const UNIT_MS = 1;

export function makeRatePlan(seed: number): RatePlan {
  const random = new Random(seed);
  const skewBoundMs = random.pick([20, 100, 2000]);
  const weights = new Map<RateStepKind, number>(Object.entries(OPERATIONS) as [RateStepKind, number][]);
  addFaults(random, weights, DISK_FAULTS);
  return {
    ...SERVER_PACE,
    seed,
    regions: REGION_NAMES.slice(0, 2 + random.below(3)).map((region) => ({
      region,
      hasDisk: false,
      skewMs: Math.floor((random.next() * 2 - 1) * skewBoundMs),
    })),
    topology: random.pick(['mesh', 'mesh', 'hub', 'chain'] as const),
    shardCount: random.pick([1, 4]),
    tickMs: random.pick([20, 50, 100]),
    settings: settingsOf(random, UNIT_MS, skewBoundMs),
    network: networkOf(random, UNIT_MS),
    skewBoundMs,
    graceMs: 4 * skewBoundMs + 50,
    keys: ['alice', 'bob', 'carol'].slice(0, 1 + random.below(3)),
    limit: random.pick([5, 40, 200]),
    // The short ones age out while a partition lasts.
    windowMs: random.pick([1000, 3000, 20_000, 60_000]),
    publishPercent: random.pick([0, 20, 20, 20, 60, 100]),
    steps: drawSteps(random, weights, random.pick([5, 60, 400]), 30 + random.below(120)),
  };
}

/** Timers about as fast as those of a server. */
export const SERVER_PACE = {
  isMutual: true,
  unitMs: UNIT_MS,
  tickMs: 10,
  redialMs: 500,
  flushMs: 100,
  disk: { writeMs: 0, syncMs: 0 },
  isUnsynced: false,
} as const;
