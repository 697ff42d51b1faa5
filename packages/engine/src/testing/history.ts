import fc from 'fast-check';
import type { Batch } from '../batches/batch.js';
import { INT64_MAX, INT64_MIN } from '../memory/int64.js';
import { OWN_ORIGIN } from '../memory/layout.js';
import { makeNode, partsOf, START_MS, send, type TestNode } from './nodes.js';
import { hashSecretOf } from './random.js';
import { repairFrom } from './repair.js';
import { add, assign, expireAt, persist, remove } from './single-key.js';

/**
 * Random histories of two to four nodes that count, reset, expire and send to each other, and every batch that came out
 * of them: what the laws of merging are tested on.
 */
export interface History {
  readonly writers: readonly TestNode[];
  /** In the order in which they were made; the last ones hold everything that each writer has of its own. */
  readonly batches: readonly Batch[];
  readonly nowMs: number;
}

export const HISTORY_KEYS = ['a', 'b', 'api:tenants:c', 'api:tenants:d'];
const GRACE_MS = 10_000;

const keys = fc.constantFrom(...HISTORY_KEYS);
const writers = fc.nat({ max: 3 });
const amounts = fc.oneof(
  { weight: 3, arbitrary: fc.bigInt(-5n, 5n) },
  { weight: 1, arbitrary: fc.constantFrom(INT64_MAX, INT64_MIN, 2n ** 62n, -(2n ** 62n), INT64_MAX - 1n) },
);
const changes = fc.oneof(
  { weight: 6, arbitrary: fc.record({ does: fc.constant('add' as const), by: writers, key: keys, amount: amounts }) },
  {
    weight: 1,
    arbitrary: fc.record({
      does: fc.constant('assign' as const),
      by: writers,
      key: keys,
      amount: amounts,
      keep: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('remove' as const), by: writers, key: keys }) },
  {
    weight: 2,
    arbitrary: fc.record({
      does: fc.constant('expireAt' as const),
      by: writers,
      key: keys,
      inMs: fc.integer({ min: 1, max: 20_000 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('persist' as const), by: writers, key: keys }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('advance' as const), ms: fc.integer({ min: 1, max: 8000 }) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      does: fc.constant('send' as const),
      by: writers,
      to: writers,
      of: writers,
      components: fc.integer({ min: 1, max: 3 }),
      arrives: fc.nat({ max: 255 }),
    }),
  },
);

/** What a history is made from; `play` makes it. */
export const histories = fc.record({
  writerCount: fc.integer({ min: 2, max: 4 }),
  changes: fc.array(changes, { minLength: 5, maxLength: 60 }),
});
export type HistoryPlan = typeof histories extends fc.Arbitrary<infer T> ? T : never;
type Change = HistoryPlan['changes'][number];

export function makeObserver(name: number, nowMs: number): TestNode {
  return makeNode(100 + name, { nowMs, expiryGraceMs: GRACE_MS, hashSecret: hashSecretOf(name) });
}

export function play(plan: HistoryPlan): History {
  const nodes = Array.from({ length: plan.writerCount }, (_, index) =>
    makeNode(index + 1, { expiryGraceMs: GRACE_MS, hashSecret: hashSecretOf(index) }),
  );
  const batches: Batch[] = [];
  let nowMs = START_MS;
  for (const change of plan.changes) {
    if (change.does === 'advance') {
      nowMs += change.ms;
      for (const { engine } of nodes) {
        engine.advanceTo(nowMs);
        engine.expireSome(10);
      }
    } else if (change.does === 'send') {
      batches.push(...sendSome(nodes, change));
    } else {
      apply(nodes[change.by % nodes.length], change);
    }
  }
  for (let round = 0; round < 4; round++) {
    for (const from of nodes) {
      for (const to of nodes) {
        if (from === to) continue;
        send(from, to);
        // A relay does not pass on that a component became empty; repair drops it elsewhere.
        repairFrom(to.engine, to.merge, from.engine);
      }
    }
  }
  for (const { engine } of nodes) batches.push(...partsOf(engine, OWN_ORIGIN, 0, { components: 3, keyBytes: 1000 }));
  return { writers: nodes, batches, nowMs };
}

/** Some parts of a walk arrive, the others are still to come. */
function sendSome(nodes: readonly TestNode[], change: Extract<Change, { does: 'send' }>): Batch[] {
  const from = nodes[change.by % nodes.length];
  const to = nodes[change.to % nodes.length];
  const origin = change.of % from.engine.origins.count;
  const theirs = to.engine.origins.find(from.engine.origins.idOf(origin));
  if (from === to || theirs === OWN_ORIGIN) return [];
  const limits = { components: change.components, keyBytes: 1000 };
  const parts = partsOf(from.engine, origin, theirs === -1 ? 0 : to.engine.seen(0, theirs), limits);
  for (const [index, part] of parts.entries()) if ((change.arrives >> (index % 8)) & 1) to.merge.apply(part);
  return parts;
}

function apply({ engine }: TestNode, change: Exclude<Change, { does: 'send' | 'advance' }>): void {
  if (change.does === 'add') add(engine, change.key, change.amount);
  else if (change.does === 'assign') assign(engine, change.key, change.amount, change.keep);
  else if (change.does === 'remove') remove(engine, change.key);
  else if (change.does === 'expireAt') expireAt(engine, change.key, engine.nowMs + change.inMs);
  else persist(engine, change.key);
}
