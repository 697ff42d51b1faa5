import { Random } from '@quotadb/engine/testing';
import { slotOfStored } from '@quotadb/server/moving';
import {
  addFaults,
  drawSteps,
  type FaultKind,
  FOREVER_MS,
  insertRareFaults,
  networkOf,
  type Plan,
  settingsOf,
} from '../world/plan.js';

/** Weights: how often each kind of step is drawn. */
const OPERATIONS = { count: 60, take: 12, move: 4 } as const;
/** What an operator and an etcd do, in schedules that have it. */
const OPTIONAL = {
  pauseMoves: 1,
  failEtcd: 3,
  lagEtcd: 3,
  cutFromEtcd: 3,
  lateLeases: 2,
  endLeases: 2,
  breakWatches: 2,
  compactEtcd: 2,
  killMover: 4,
  pauseMover: 4,
} as const;
export type MoveStepKind = keyof typeof OPERATIONS | keyof typeof OPTIONAL | FaultKind;

export interface MovePlan extends Plan<MoveStepKind> {
  readonly groups: readonly string[];
  readonly keys: readonly string[];
  readonly subjects: readonly string[];
  /** Of the quota of every subject. */
  readonly limit: number;
  readonly batchSlots: number;
  readonly leaseSeconds: number;
  readonly attemptMs: number;
  /** Of the calls between members: they arrive late, perhaps after the caller has given up. */
  readonly lateness: number;
}

/**
 * Members are not lost for good, and come back with what their disks had: what only a lost member holds is lost without
 * a move, too. Clocks that leap and a second server under a name are for schedules of counters.
 */
const WITHOUT: readonly FaultKind[] = [
  'loseDisk',
  'join',
  'leave',
  'loseLog',
  'startAhead',
  'leapClock',
  'twin',
  'stopOnFailingDisk',
];
const UNIT_MS = 1;

/** The counter of a limit of the catalogue in a window, whose slot is that of the subject. */
function cellOf(subject: string): string {
  return `\0QDw${'\x01'.repeat(12)}\0QDlapi\0${subject}`;
}

/** Of a client's key, a subject, or the counter of a limit. */
export function slotOf(key: string): number {
  return slotOfStored(Buffer.from(key));
}

export function makeMovePlan(seed: number): MovePlan {
  const random = new Random(seed);
  const skewBoundMs = random.pick([20, 100, 2000]);
  const groups = ['a', 'b', 'c'].slice(0, random.pick([2, 2, 3]));
  const membersOf = (group: string) => [1, 2, 3].slice(0, random.pick([2, 2, 3])).map((number) => group + number);
  const regions = groups.flatMap(membersOf).map((region) => ({
    region,
    hasDisk: true,
    skewMs: Math.floor((random.next() * 2 - 1) * skewBoundMs),
  }));
  const weights = new Map<MoveStepKind, number>(Object.entries(OPERATIONS) as [MoveStepKind, number][]);
  const share = random.pick([0.2, 0.5, 1]);
  for (const [kind, weight] of Object.entries(OPTIONAL) as [MoveStepKind, number][])
    if (random.chance(share)) weights.set(kind, weight);
  addFaults(random, weights, WITHOUT);
  const steps = drawSteps(random, weights, random.pick([40, 150, 300]), 40 + random.below(80));
  return {
    seed,
    regions,
    groups,
    topology: 'mesh',
    isMutual: true,
    shardCount: random.pick([1, 2]),
    unitMs: UNIT_MS,
    tickMs: random.pick([5, 20, 50]),
    redialMs: random.pick([50, 200]),
    flushMs: random.pick([10, 50, 200]),
    // Nothing moves while a member is away, so none is given up.
    settings: { ...settingsOf(random, UNIT_MS, skewBoundMs), giveUpAfterMs: FOREVER_MS },
    // A link of a server loses nothing while it is open, and policies are sent once on each.
    network: { ...networkOf(random, UNIT_MS), loss: 0, duplication: 0, reordering: 0 },
    disk: { writeMs: random.pick([0.1, 2]), syncMs: random.pick([1, 10, 50]) },
    isUnsynced: false,
    skewBoundMs,
    graceMs: 2 * skewBoundMs + 1000,
    keys: Array.from({ length: 6 + random.below(18) }, (_, index) =>
      index % 3 === 2 ? cellOf(`k${index}`) : `k${index}`,
    ),
    subjects: Array.from({ length: 1 + random.below(4) }, (_, index) => `s${index}`),
    limit: random.pick([10, 40]),
    batchSlots: random.pick([500, 2048, 16_384]),
    leaseSeconds: random.pick([2, 5]),
    attemptMs: random.pick([200, 1000]),
    lateness: random.pick([0, 0.05, 0.25]),
    steps: insertRareFaults(seed, steps, WITHOUT),
  };
}
