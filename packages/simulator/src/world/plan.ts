import { Random } from '@quotadb/engine/testing';
import type { ReplicationSettings } from '@quotadb/replication';
import type { DiskTraits } from './disk.js';
import type { NetworkTraits } from './network.js';

/** The parts of a schedule that its seed decides whether the replicas hold counters, quotas or rate limits. */
export interface Plan<Kind extends string = string> {
  readonly seed: number;
  /** What the clocks show at the beginning, but for how far they are apart. */
  readonly startMs?: number;
  readonly regions: readonly RegionPlan[];
  readonly topology: 'mesh' | 'hub' | 'chain';
  /** Both ends of every pair have each other among their peers, and so wait for each other from the start. */
  readonly isMutual: boolean;
  /** How the names of nodes that join begin: those of members with their region. */
  readonly joinPrefix?: string;
  readonly shardCount: number;
  /** All times of a schedule are in proportion: clocks minutes apart and slow timers, or seconds and quick ones. */
  readonly unitMs: number;
  readonly tickMs: number;
  /** For measurements: ticks are not drawn, but made as the server's pacemaker does, which looks this often. */
  readonly beatMs?: number;
  readonly redialMs: number;
  readonly flushMs: number;
  readonly settings: PlannedSettings;
  readonly network: NetworkTraits;
  readonly disk: DiskTraits;
  /** As with --fsync never: writes are not synced, and a power failure loses those that the system has not written. */
  readonly isUnsynced: boolean;
  readonly skewBoundMs: number;
  readonly graceMs: number;
  readonly steps: readonly Step<Kind>[];
}

export interface RegionPlan {
  readonly region: string;
  readonly hasDisk: boolean;
  readonly skewMs: number;
}

/** One event of a schedule: its kind, its distance from the event before, and the seed of all that it chooses. */
export interface Step<Kind extends string = string> {
  readonly index: number;
  readonly afterMs: number;
  readonly kind: Kind;
  readonly seed: number;
}

export type PlannedSettings = Omit<ReplicationSettings, 'partKeyBytes' | 'sendWithinMs'>;

/** Longer than any schedule. */
export const FOREVER_MS = 1e12;
export const REGION_NAMES = ['ap', 'br', 'ca', 'de', 'eu', 'fi', 'gb', 'hk'];

/** Weights: how often each kind of fault is drawn in a schedule that has it. */
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
/** Faults of operation, each in some schedules. */
const RARE_FAULTS = ['leapClock', 'startAhead', 'loseLog', 'stop', 'stopOnFailingDisk', 'twin'] as const;
type OperationKind = (typeof RARE_FAULTS)[number];
/** Drawn from streams of their own, so that the seeds that were kept before still name the same schedule. */
export type RareKind = 'fillMemory' | 'restoreCopy' | OperationKind;
export type FaultKind = keyof typeof FAULTS | RareKind;

export function settingsOf(random: Random, unitMs: number, skewBoundMs: number): PlannedSettings {
  const partComponents = random.pick([1, 2, 3, 256]);
  return {
    partComponents,
    // Not drawn: one draw more would make another schedule of every seed that was kept.
    patienceMs: (partComponents === 2 ? 5 : 40) * unitMs,
    resetIntervalMs: 5000 * unitMs,
    tickBytes: random.pick([200, 1024 * 1024]),
    statusIntervalMs: random.pick([100, 300]) * unitMs,
    idleStatusIntervalMs: random.pick([300, 1000]) * unitMs,
    pingIntervalMs: 500 * unitMs,
    silenceMs: random.pick([1500, 4000]) * unitMs,
    nameLeaseMs: 8000 * unitMs,
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

/** Periods of full memory, in one of seven schedules. */
export function rareTroubleOf(seed: number) {
  const random = new Random(seed ^ 0x4a4e);
  const fillings = random.chance(0.15) ? 1 + random.below(4) : 0;
  return {
    /** A key of more than half a page needs a page of its own, and so meets full memory with its first change. */
    keySuffix: fillings > 0 ? '-'.repeat(LONG_KEY_BYTES) : '',
    insertInto<Kind extends string>(steps: readonly Step<Kind>[]): Step<Kind | RareKind>[] {
      const fill = (index: number) =>
        ({ index: steps.length + index, afterMs: 0, kind: 'fillMemory', seed: random.below(2 ** 31) }) as const;
      return insertAtRandom(random, steps, fillings, fill);
    },
  };
}

/**
 * Adds faults of operation to a third of the schedules: some kinds, or one alone. The stream is one of which no seed
 * that is kept for a defect has any.
 */
export function insertRareFaults<Kind extends string>(
  seed: number,
  steps: readonly Step<Kind>[],
  without: readonly FaultKind[] = [],
): Step<Kind | OperationKind>[] {
  const random = new Random(seed ^ RARE_STREAM);
  if (!random.chance(RARE_SHARE)) return [...steps];
  const share = random.pick([0, 0.3, 1]);
  const always = random.pick(RARE_FAULTS);
  const drawn = RARE_FAULTS.filter((kind) => random.chance(share) || kind === always);
  const kinds = drawn.filter((kind) => !without.includes(kind));
  if (kinds.length === 0) return [...steps];
  const make = (index: number) =>
    ({ index: steps.length + index, afterMs: 0, kind: random.pick(kinds), seed: random.below(2 ** 31) }) as const;
  return insertAtRandom(random, steps, 1 + random.below(MOST_RARE_FAULTS), make);
}

/**
 * Adds old copies of a disk that are put back to one in ten schedules without other faults of operation. From a stream
 * of their own, as above. Only for the lowest seeds, which are no fresh ones: the oracle of counters does not know all
 * that may become of an old copy.
 */
export function insertRestores<Kind extends string>(
  seed: number,
  steps: readonly Step<Kind>[],
): Step<Kind | 'restoreCopy'>[] {
  const random = new Random(seed ^ RESTORE_STREAM);
  const isOperated = steps.some(({ kind }) => (RARE_FAULTS as readonly string[]).includes(kind));
  if (seed > LAST_SEED_WITH_RESTORES || !random.chance(RESTORE_SHARE) || isOperated) return [...steps];
  const make = (index: number) =>
    ({ index: steps.length + index, afterMs: 0, kind: 'restoreCopy', seed: random.below(2 ** 31) }) as const;
  return insertAtRandom(random, steps, 1 + random.below(MOST_RESTORES), make);
}

const RESTORE_STREAM = 0x51c0c6;
const RESTORE_SHARE = 0.1;
const LAST_SEED_WITH_RESTORES = 400;
const MOST_RESTORES = 3;
const RARE_STREAM = 0x44872f;
const RARE_SHARE = 0.35;
const MOST_RARE_FAULTS = 6;
const LONG_KEY_BYTES = 2500;

/** Puts further steps between those of a schedule. */
export function insertAtRandom<Kind extends string, More extends string>(
  random: Random,
  steps: readonly Step<Kind>[],
  count: number,
  make: (index: number) => Step<More>,
): Step<Kind | More>[] {
  const all: Step<Kind | More>[] = [...steps];
  for (let index = 0; index < count; index++) {
    const step = make(index);
    all.splice(random.below(all.length), 0, step);
  }
  return all;
}

/**
 * Adds some kinds of faults, each with a weight of its own: most schedules have only some, so each is also met alone.
 */
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
