import { expect } from 'vitest';
import type { Batch } from '../batches/batch.js';
import { Applied } from '../batches/merge.js';
import { OWN_ORIGIN } from '../memory/layout.js';
import { checkConsistency } from './check-consistency.js';
import { HISTORY_KEYS, type History, makeObserver } from './history.js';
import { nameOfOrigin } from './inspect.js';
import { send, sendOrigin, type TestNode } from './nodes.js';
import { Random } from './random.js';
import { read } from './single-key.js';

/** A law of merging, checked on one history, with a seed for the order of batches. */
export interface Law {
  readonly name: string;
  check(history: History, seed: number): void;
}

/**
 * Applies batches in the given order, and again those that came before what they build on, as long as that helps. Then
 * asks for what is missing because the parts of a walk came out of order: now everything has arrived.
 */
function applyAll(node: TestNode, batches: readonly Batch[], { writers }: History): void {
  let waiting = batches;
  for (let before = Number.POSITIVE_INFINITY; waiting.length < before; ) {
    before = waiting.length;
    waiting = waiting.filter((batch) => node.merge.apply(batch) === Applied.Gap);
  }
  for (const writer of writers) sendOrigin(writer, node, OWN_ORIGIN);
}

function shuffled<T>(list: readonly T[], seed: number): T[] {
  const random = new Random(seed);
  const result = [...list];
  for (let last = result.length - 1; last > 0; last--) {
    const other = random.below(last + 1);
    [result[last], result[other]] = [result[other], result[last]];
  }
  return result;
}

/** Everything that must be the same on two nodes that have seen the same: readings, and the digest of every origin. */
function stateOf({ engine }: TestNode): unknown {
  const digests: Record<string, string> = {};
  for (let origin = 0; origin < engine.origins.count; origin++) {
    const name = nameOfOrigin(engine.origins.idOf(origin));
    if (engine.digestOf(0, origin) !== '0'.repeat(16)) digests[name] = engine.digestOf(0, origin);
  }
  checkConsistency(engine);
  return { readings: HISTORY_KEYS.map((key) => read(engine, key)), digests };
}

export const LAWS: readonly Law[] = [
  {
    name: 'is commutative: the order in which batches come does not matter',
    check(history, seed) {
      const [one, other] = [1, 2].map((name) => makeObserver(name, history.nowMs));
      applyAll(one, history.batches, history);
      applyAll(other, shuffled(history.batches, seed), history);
      expect(stateOf(other)).toEqual(stateOf(one));
    },
  },
  {
    name: 'is idempotent: a batch that comes again changes nothing',
    check(history, seed) {
      const observer = makeObserver(1, history.nowMs);
      applyAll(observer, history.batches, history);
      const before = stateOf(observer);
      for (const batch of shuffled(history.batches, seed)) expect(observer.merge.apply(batch)).toBe(Applied.Ok);
      expect(stateOf(observer)).toEqual(before);
    },
  },
  {
    name: 'is associative: what came through others, merged there first, is what comes at once',
    check(history, seed) {
      const [direct, relay, otherRelay, last] = [1, 2, 3, 4].map((name) => makeObserver(name, history.nowMs));
      applyAll(direct, history.batches, history);
      applyAll(relay, shuffled(history.batches, seed), history);
      applyAll(otherRelay, shuffled(history.batches, seed + 1), history);
      send(relay, last);
      send(otherRelay, last);
      expect(stateOf(last)).toEqual(stateOf(direct));
    },
  },
  {
    name: 'brings observers to what the writers themselves see',
    check(history, seed) {
      const observer = makeObserver(1, history.nowMs);
      applyAll(observer, shuffled(history.batches, seed), history);
      for (const writer of history.writers) expect(stateOf(writer)).toEqual(stateOf(observer));
    },
  },
];
