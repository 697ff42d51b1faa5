import { componentsOf, type HeldComponent, type Increment, valueOfOpen, withKey } from '@quotadb/engine/testing';
import { FOREVER_MS } from '../world/plan.js';
import type { NodeProcess } from '../world/process.js';
import type { Oracle } from './oracle.js';
import type { CounterPlan } from './plan.js';

export interface CheckContext {
  readonly plan: CounterPlan;
  readonly oracle: Oracle;
  /** Of the scheduler. */
  readonly nowMs: number;
  /** Of the clock that is furthest ahead. */
  readonly latestMs: number;
  readonly shardOf: (key: string) => number;
  readonly nameOf: (origin: string) => string;
  /** Whether the origin is that of a process that is up. */
  readonly isRunning: (origin: string) => boolean;
  /** Nodes that lost their state, so far. */
  readonly lossesTotal: number;
}

/** Checks what must hold on one replica at any moment. Returns a line for each violation. */
export function findFaults(process: NodeProcess, context: CheckContext): string[] {
  return [
    ...context.plan.keys.flatMap((key) => [
      ...findReadFaults(process, key, context),
      ...findHoldingFaults(process, key, context),
    ]),
    ...findFreshnessFaults(process, context),
  ];
}

/** The increments that make up the value of a key, or an error where it is no sum of increments. */
export function readKey(process: NodeProcess, key: string, oracle: Oracle): readonly Increment[] | string {
  const { engine } = process;
  return oracle.ledger.read(
    key,
    withKey(engine, key, () => valueOfOpen(engine)),
  );
}

function describe({ key, index }: Increment): string {
  return `${key}/${index}`;
}

/**
 * A read lies between the acknowledged and the attempted increments. It must count every increment under this replica's
 * watermark of its origin. It must not count one that a reset under the watermark had seen, nor one that was undone.
 */
export function findReadFaults(process: NodeProcess, key: string, context: CheckContext): string[] {
  const { oracle, latestMs } = context;
  const counted = readKey(process, key, oracle);
  if (typeof counted === 'string') return [`${process.label}: ${counted}`];
  const faults: string[] = [];
  const shard = context.shardOf(key);
  for (const increment of oracle.ledger.of(key)) {
    const fact = oracle.factOf(increment);
    if (counted.includes(increment)) {
      if (fact.isUndone)
        faults.push(`${process.label} counts ${describe(increment)}, which was on no disk and sent to no peer`);
      continue;
    }
    const isKnown = process.seenOf(fact.origin, shard) >= fact.version;
    if (isKnown && !oracle.mayBeHidden(increment, latestMs))
      faults.push(`${process.label} has seen ${describe(increment)} and does not count it`);
  }
  for (const reset of isPatient(context) ? oracle.resets : []) {
    if (reset.key !== key || reset.state !== 'holds' || process.seenOf(reset.origin, shard) < reset.version) continue;
    const survived = counted.find(
      (increment) => reset.increments.has(increment) && !mayPrecedeItsEnd(process, increment, context),
    );
    if (survived !== undefined)
      faults.push(
        `${process.label} counts ${describe(survived)}, and has seen ${context.nameOf(reset.origin)} reset it`,
      );
  }
  return faults;
}

/**
 * Through a relay, the end of a generation and the withdrawal of its reset may arrive in either order: an increment may
 * count again after its owner has ended it, and only until this replica's watermark has passed that end.
 */
function mayPrecedeItsEnd(
  process: NodeProcess,
  increment: Increment,
  { plan, oracle, shardOf }: CheckContext,
): boolean {
  if (plan.topology === 'mesh') return false;
  const { origin, endedAt } = oracle.factOf(increment);
  return endedAt !== Number.POSITIVE_INFINITY && process.seenOf(origin, shardOf(increment.key)) < endedAt;
}

/** A replica whose watermark is past the end of an increment does not hold it any more. */
function findHoldingFaults(process: NodeProcess, key: string, context: CheckContext): string[] {
  const { oracle, nameOf, shardOf } = context;
  const faults: string[] = [];
  const isOrderly = isPatient(context);
  for (const component of componentsOf(process.engine, key)) {
    noteEnd(process, key, component, oracle);
    const seen = process.seenOf(component.origin, shardOf(key));
    const last = oracle.lastChange(component.origin, key, seen);
    if (isOrderly && component.version < last)
      faults.push(
        `${process.label} has seen ${key} of ${nameOf(component.origin)} at ${last}, and holds ${component.version}`,
      );
    for (const increment of oracle.ledger.inComponent(key, component.positive, component.negative)) {
      const fact = oracle.factOf(increment);
      if (fact.origin !== component.origin && !oracle.inherited.has(increment))
        faults.push(
          `${process.label} holds ${describe(increment)} of ${nameOf(fact.origin)} as of ${nameOf(component.origin)}`,
        );
      else if (isOrderly && fact.endedAt <= seen)
        faults.push(
          `${process.label} holds ${describe(increment)}, which ${nameOf(fact.origin)} ended at ${fact.endedAt}`,
        );
    }
  }
  return faults;
}

/**
 * Whether every replica waits for every other before it collects garbage. A replica may hold for a while a component
 * that others have collected if members can be given up, are unknown until they call, or get another neighbour because
 * one has left; if a relay acknowledged the end and lost its memory before it passed it on; and if memory was too full
 * to note the removal for the disk. Comparing digests repairs that, and at the end nothing of it may be left.
 */
function isPatient({ plan: { settings, isMutual, topology, steps, isUnsynced }, lossesTotal }: CheckContext): boolean {
  if (settings.giveUpAfterMs !== FOREVER_MS || steps.some(({ kind }) => IMPATIENT.includes(kind))) return false;
  if (isUnsynced && lossesTotal > 0) return false;
  if (topology === 'mesh') return true;
  return isMutual && lossesTotal === 0 && !steps.some(({ kind }) => kind === 'join' || kind === 'leave');
}

/**
 * Full memory; a process that acknowledges under the name of another; a replica that has lost time or an incarnation.
 */
const IMPATIENT: readonly string[] = ['fillMemory', 'twin', 'startAhead', 'loseLog', 'restoreCopy'];

/** An origin's own component is in a later generation: the increments of the earlier one have ended. */
export function noteEnd(process: NodeProcess, key: string, component: HeldComponent, oracle: Oracle): void {
  if (component.origin !== process.origin) return;
  for (const increment of oracle.ledger.of(key)) {
    const fact = oracle.factOf(increment);
    if (fact.origin === component.origin && fact.version < component.born && component.version < fact.endedAt)
      fact.endedAt = component.version;
  }
}

/** A view that claims to be as of some moment has every increment that was made before. */
function findFreshnessFaults(process: NodeProcess, { oracle, nowMs, nameOf, plan }: CheckContext): string[] {
  const { replica } = process;
  const faults: string[] = [];
  for (const origin of replica.origins()) {
    if (origin === process.origin) continue;
    const ageMs = replica.freshness.ageMs(origin, process.monotonicMs());
    if (ageMs < 0) continue;
    for (const { madeAtMs, version, shard, isUndone, increment } of oracle.factsOf(origin)) {
      // An origin that lost it with its power claims in good faith that it has sent everything.
      if (plan.isUnsynced && oracle.mayBeLost.has(increment)) continue;
      if (!isUndone && madeAtMs < nowMs - ageMs - CLOCK_ERROR_MS && process.seenOf(origin, shard) < version)
        faults.push(
          `${process.label} claims that its view of ${nameOf(origin)} is ${ageMs} ms old, ` +
            `and has not seen ${describe(increment)}, made ${nowMs - madeAtMs} ms ago`,
        );
    }
  }
  return faults;
}

/** Sums of fractions of milliseconds. */
const CLOCK_ERROR_MS = 0.001;

/** Every increment that a replica holds in some component, whether it counts or not. */
export function holdingsOf(process: NodeProcess, keys: readonly string[], oracle: Oracle): Set<Increment> {
  const held = new Set<Increment>();
  for (const key of keys)
    for (const { positive, negative } of componentsOf(process.engine, key))
      for (const increment of oracle.ledger.inComponent(key, positive, negative)) held.add(increment);
  return held;
}
