import { checkConsistency, componentsOf, type Increment, valueOfOpen, withKey } from '@quotadb/engine/testing';
import { FOREVER_MS } from '../world/plan.js';
import type { NodeProcess } from '../world/process.js';
import { type CheckContext, readKey } from './checks.js';

/** Differences between replicas, and garbage that they keep: none, once all has healed. */
export function findDifferences(processes: readonly NodeProcess[], context: CheckContext): string[] {
  const { plan, nameOf } = context;
  const differences: string[] = [];
  const origins = new Set(processes.flatMap(({ replica }) => replica.origins()));
  for (const origin of origins) {
    for (let shard = 0; shard < plan.shardCount; shard++) {
      const seen = processes.map((process) => process.seenOf(origin, shard));
      if (new Set(seen).size > 1) differences.push(`watermarks of ${nameOf(origin)}/${shard}: ${seen.join(' | ')}`);
      const digests = processes.map((process) => digestOf(process, origin, shard));
      if (new Set(digests).size > 1) differences.push(`digests of ${nameOf(origin)}/${shard}: ${digests.join(' | ')}`);
    }
  }
  differences.push(...findStale(processes, context));
  for (const key of plan.keys) {
    const readings = processes.map((process) => readingOf(process, key));
    if (new Set(readings).size > 1) differences.push(`${key}: ${readings.join(' | ')}`);
  }
  for (const process of processes) {
    const retained = process.engine.stats().removedKeysRetained - countUnanswerable(process, context);
    if (retained > 0) differences.push(`${process.label} keeps ${retained} records of keys that are gone`);
  }
  return differences;
}

/**
 * Removed keys that no replica can drop, because a lost incarnation has a part in them: it had reset a generation, and
 * only it could withdraw the reset; or its own generation was reset, and only it could answer.
 */
function countUnanswerable({ engine }: NodeProcess, { plan, oracle }: CheckContext): number {
  const isLost = (origin: string) => oracle.deadOrigins.has(origin);
  const isUnanswerable = (key: string) =>
    componentsOf(engine, key).some(
      ({ origin, cancels }) => isLost(origin) || cancels.some((cancel) => isLost(cancel.slice(0, origin.length))),
    ) && !withKey(engine, key, () => engine.exists);
  return plan.keys.filter(isUnanswerable).length;
}

/** Every replica's view of every other that runs is fresh again. */
function findStale(processes: readonly NodeProcess[], { plan, nameOf }: CheckContext): string[] {
  const { network, settings } = plan;
  const hopMs =
    settings.idleStatusIntervalMs + 2 * (network.delayMs + network.jitterMs) + SLOWEST_TICK_MS * plan.unitMs;
  const stale: string[] = [];
  for (const process of processes) {
    for (const { origin } of processes) {
      if (origin === process.origin) continue;
      const ageMs = process.replica.freshness.ageMs(origin, process.monotonicMs());
      if (ageMs < 0 || ageMs > hopMs * FRESH_HOPS)
        stale.push(`${process.label} sees ${nameOf(origin)} as of ${ageMs} ms ago`);
    }
  }
  return stale;
}

/** In units of the plan. */
const SLOWEST_TICK_MS = 500;
/** A chain of five has four links; each side of one may just have missed the other. */
const FRESH_HOPS = 12;

function digestOf(process: NodeProcess, origin: string, shard: number): string {
  const index = process.engine.origins.find(Buffer.from(origin, 'hex'));
  return index === -1 ? '0'.repeat(16) : process.engine.digestOf(shard, index);
}

function readingOf({ engine }: NodeProcess, key: string): string {
  return withKey(engine, key, () => `${engine.exists} ${valueOfOpen(engine)} ${engine.expiresAtMs}`);
}

/** Checks what must hold at the end, when all replicas agree. Returns a line for each violation. */
export function judge(processes: readonly NodeProcess[], context: CheckContext): string[] {
  const faults: string[] = [];
  for (const { label, engine } of processes) {
    try {
      checkConsistency(engine);
    } catch (error) {
      faults.push(`${label}: ${(error as Error).message}`);
    }
  }
  for (const key of context.plan.keys) faults.push(...judgeKey(processes[0], key, context));
  return faults;
}

function judgeKey(process: NodeProcess, key: string, context: CheckContext): string[] {
  const { oracle, latestMs } = context;
  const counted = readKey(process, key, oracle);
  if (typeof counted === 'string') return [counted];
  const faults: string[] = [];
  const say = (increment: Increment, what: string) => faults.push(`increment ${key}/${increment.index} ${what}`);
  for (const increment of oracle.ledger.of(key)) {
    if (!counted.includes(increment)) {
      if (!oracle.mayBeMissing(increment, latestMs)) say(increment, 'is lost');
    } else {
      const isReset = oracle.resets.some(({ state, increments }) => state === 'holds' && increments.has(increment));
      if (isReset && !oracle.inherited.has(increment) && !isEndLost(process, increment, context))
        say(increment, 'survived a reset that had seen it');
      if (oracle.factOf(increment).isUndone) say(increment, 'counts, though it was on no disk and sent to no peer');
    }
  }
  return faults;
}

/**
 * Whether an origin has ended a generation because of a reset, the reset was withdrawn, and every replica that knew of
 * the end is lost. A reset is kept until all peers have acknowledged the end; but a relay may pass on the withdrawal
 * before the end, and a member that was given up is not waited for. If the origin then dies before digests were
 * compared, the end is lost.
 */
function isEndLost(process: NodeProcess, increment: Increment, context: CheckContext): boolean {
  const { origin, endedAt } = context.oracle.factOf(increment);
  const { settings, topology, isUnsynced } = context.plan;
  if (context.isRunning(origin)) return false;
  // Its end may have been lost with the power of every replica that had received it.
  if (isUnsynced) return true;
  const isUnheard = process.seenOf(origin, context.shardOf(increment.key)) < endedAt;
  return (
    endedAt !== Number.POSITIVE_INFINITY &&
    (settings.giveUpAfterMs !== FOREVER_MS || (topology !== 'mesh' && isUnheard))
  );
}
