import { Random } from '@quotadb/engine/testing';
import type { ReplicationSettings } from '@quotadb/replication';
import type { NetworkTraits } from './network.js';
import type { DiskTraits } from './simulated-disk.js';

export type Topology = 'mesh' | 'hub' | 'chain';

export interface RegionPlan {
  readonly region: string;
  readonly hasDisk: boolean;
  readonly skewMs: number;
}

/** One thing that happens: what kind, how long after the one before, and the dice for everything it has to choose. */
export interface Step<Kind extends string = string> {
  readonly index: number;
  readonly afterMs: number;
  readonly kind: Kind;
  readonly seed: number;
}

/** What is tuned; the rest is as it comes. */
export type PlannedSettings = Omit<ReplicationSettings, 'partKeyBytes'>;

/** Longer than any schedule. */
export const FOREVER_MS = 1e12;

/** Weights: how often each kind of step is taken where the schedule has it at all. */
const OPERATIONS = { add: 30, remove: 6, assign: 4, read: 8 } as const;
const EXPIRIES = { expire: 5, persist: 2, addWithExpiry: 6 } as const;
const FAULTS = {
  cut: 4,
  isolate: 3,
  breakStream: 3,
  halfOpen: 2,
  killProcess: 3,
  failPower: 3,
  loseDisk: 1,
  join: 1,
  leave: 1,
  jumpClock: 3,
  failDisk: 2,
  snapshot: 2,
  pause: 2,
  wait: 2,
} as const;
/** Not in the schedules of every seed, and drawn apart from all else: what older seeds stand for stays as it was. */
type RareKind = 'fillMemory';
export type FaultKind = keyof typeof FAULTS | RareKind;
export type CounterStepKind = keyof typeof OPERATIONS | keyof typeof EXPIRIES | FaultKind;

/** Everything about a schedule that its seed decides before it begins. */
export interface Plan<Kind extends string = string> {
  readonly seed: number;
  readonly regions: readonly RegionPlan[];
  readonly topology: Topology;
  /** Both ends of every pair have each other among their peers, and so wait for each other from the start. */
  readonly isMutual: boolean;
  readonly shardCount: number;
  /** All times of a schedule are in proportion: clocks minutes apart and slow timers, or seconds and quick ones. */
  readonly unitMs: number;
  readonly tickMs: number;
  readonly redialMs: number;
  readonly flushMs: number;
  readonly settings: PlannedSettings;
  readonly network: NetworkTraits;
  readonly disk: DiskTraits;
  /** Disks are written and not synced, as with --fsync never: a power failure takes what the system has not written. */
  readonly isUnsynced: boolean;
  readonly skewBoundMs: number;
  readonly graceMs: number;
  readonly steps: readonly Step<Kind>[];
}

export interface CounterPlan extends Plan<CounterStepKind> {
  readonly keys: readonly string[];
  readonly hasExpiry: boolean;
  readonly longestExpiryMs: number;
}

export const REGION_NAMES = ['ap', 'br', 'ca', 'de', 'eu'];

/** A plan is made of chances: most schedules have only some kinds of trouble, so that each kind is also seen alone. */
export function makePlan(seed: number): CounterPlan {
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
    steps: rare.insertInto(stepsOf(random, unitMs, hasExpiry)),
  };
}

export function settingsOf(random: Random, unitMs: number, skewBoundMs: number): PlannedSettings {
  const partComponents = random.pick([1, 2, 3, 256]);
  return {
    partComponents,
    // Not drawn: one draw more would make another schedule of every seed that was kept.
    patienceMs: (partComponents === 2 ? 5 : 40) * unitMs,
    tickBytes: random.pick([200, 1024 * 1024]),
    statusIntervalMs: random.pick([100, 300]) * unitMs,
    idleStatusIntervalMs: random.pick([300, 1000]) * unitMs,
    pingIntervalMs: 500 * unitMs,
    silenceMs: random.pick([1500, 4000]) * unitMs,
    digestIntervalMs: random.pick([200, 800]) * unitMs,
    digestShards: random.pick([1, 8]),
    stallMs: random.pick([400, 1500]) * unitMs,
    giveUpAfterMs: random.pick([500 * unitMs, 3000 * unitMs, FOREVER_MS, FOREVER_MS]),
    skewBoundMs: 3 * skewBoundMs,
  };
}

export function networkOf(random: Random, unitMs: number): NetworkTraits {
  const isLossy = random.chance(0.5);
  const rates = [0.02, 0.15];
  const delayMs = random.pick([0.2, 5, 50]) * unitMs;
  return {
    delayMs,
    jitterMs: delayMs * random.pick([0.1, 2]),
    loss: isLossy ? random.pick(rates) : 0,
    duplication: isLossy ? random.pick([0, ...rates]) : 0,
    reordering: isLossy ? random.pick([0, ...rates]) : 0,
    windowBytes: random.pick([100, 1000, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]),
  };
}

/** Memory that is full for a while. */
export function rareTroubleOf(seed: number) {
  const random = new Random(seed ^ 0x4a4e);
  const fillings = random.chance(0.15) ? 1 + random.below(4) : 0;
  return {
    /** Keys of more than half a page have pages of their own, and feel at once that there are none. */
    keySuffix: fillings > 0 ? '-'.repeat(LONG_KEY_BYTES) : '',
    insertInto<Kind extends string>(steps: readonly Step<Kind>[]): Step<Kind | RareKind>[] {
      const all: Step<Kind | RareKind>[] = [...steps];
      for (let index = 0; index < fillings; index++) {
        const step = {
          index: steps.length + index,
          afterMs: 0,
          kind: 'fillMemory',
          seed: random.below(2 ** 31),
        } as const;
        all.splice(random.below(all.length), 0, step);
      }
      return all;
    },
  };
}

const LONG_KEY_BYTES = 2500;

function stepsOf(random: Random, unitMs: number, hasExpiry: boolean): Step<CounterStepKind>[] {
  const weights = new Map<CounterStepKind, number>(Object.entries(OPERATIONS) as [CounterStepKind, number][]);
  if (hasExpiry) for (const [kind, weight] of Object.entries(EXPIRIES)) weights.set(kind as CounterStepKind, weight);
  addFaults(random, weights);
  return drawSteps(random, weights, random.pick([10, 40, 100]) * unitMs, 20 + random.below(100));
}

/** Some of the faults, each as often as it comes. */
export function addFaults<Kind extends string>(
  random: Random,
  weights: Map<Kind | FaultKind, number>,
  without: readonly FaultKind[] = [],
): void {
  const share = random.pick([0.2, 0.5, 1]);
  for (const [kind, weight] of Object.entries(FAULTS) as [FaultKind, number][])
    if (random.chance(share) && !without.includes(kind)) weights.set(kind, weight * random.pick([0.5, 1, 2]));
}

export function drawSteps<Kind extends string>(
  random: Random,
  weights: ReadonlyMap<Kind, number>,
  spacingMs: number,
  count: number,
): Step<Kind>[] {
  const kinds = [...weights];
  const total = kinds.reduce((sum, [, weight]) => sum + weight, 0);
  const choose = (): Kind => {
    let dice = random.next() * total;
    for (const [kind, weight] of kinds) {
      dice -= weight;
      if (dice < 0) return kind;
    }
    return kinds[0][0];
  };
  return Array.from({ length: count }, (_, index) => ({
    index,
    afterMs: random.next() * 2 * spacingMs,
    kind: choose(),
    seed: random.below(2 ** 31),
  }));
}
