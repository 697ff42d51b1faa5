import { Batch, NOT_PASSED } from '../batches/batch.js';
import { Merge } from '../batches/merge.js';
import { batchSince, type WalkLimits } from '../batches/walk.js';
import { Engine, type EngineOptions } from '../keys/engine.js';
import { OWN_ORIGIN } from '../memory/layout.js';
import { placement } from './placement.js';

export const START_MS = Date.UTC(2026, 0, 1);

/** An engine that has peers, and its merge; for tests of batches between nodes. */
export interface TestNode {
  readonly engine: Engine;
  readonly merge: Merge;
}

export function makeNode(name: number, options: Partial<EngineOptions> = {}): TestNode {
  const origin = new Uint8Array(32);
  origin[0] = name;
  const engine = Engine.format({
    maxMemoryBytes: 4 * 1024 * 1024,
    nowMs: START_MS,
    shardCount: 1,
    origin,
    ...placement,
    ...options,
  });
  for (let shard = 0; shard < engine.shardCount; shard++) engine.acknowledge(shard, 0);
  return { engine, merge: new Merge(engine) };
}

let lastWalk = 0;

/** One walk, to its end, in parts: what `from` holds of an origin of which `to` has seen less. */
export function partsOf(from: Engine, origin: number, start: number, limits?: WalkLimits, shard = 0): Batch[] {
  const parts: Batch[] = [];
  const walk = ++lastWalk;
  for (let at = start, passed = NOT_PASSED; ; ) {
    const batch = batchSince(from, shard, origin, at, new Batch(), limits, start, passed);
    batch.walk = walk;
    parts.push(batch);
    at = batch.reached;
    passed = batch.passed;
    if (batch.to !== 0 || batch.count === 0) return parts;
  }
}

/** Everything that `from` holds and `to` has not seen, own and relayed. */
export function send(from: TestNode, to: TestNode): void {
  for (let origin = OWN_ORIGIN; origin < from.engine.origins.count; origin++) sendOrigin(from, to, origin);
}

export function sendOrigin(from: TestNode, to: TestNode, origin: number): void {
  for (let shard = 0; shard < from.engine.shardCount; shard++) {
    const theirs = to.engine.origins.find(from.engine.origins.idOf(origin));
    if (theirs === OWN_ORIGIN) continue;
    const start = theirs === -1 ? 0 : to.engine.seen(shard, theirs);
    for (const part of partsOf(from.engine, origin, start, undefined, shard)) to.merge.apply(part);
  }
}

/** Acknowledges the changes of a node that every other node has seen. */
function acknowledge(node: TestNode, nodes: readonly TestNode[]): void {
  for (let shard = 0; shard < node.engine.shardCount; shard++) {
    let version = node.engine.seen(shard, OWN_ORIGIN);
    for (const other of nodes) {
      if (other === node) continue;
      const index = other.engine.origins.find(node.engine.origins.idOf(OWN_ORIGIN));
      version = Math.min(version, index === -1 ? 0 : other.engine.seen(shard, index));
    }
    node.engine.acknowledge(shard, version);
  }
}

/** All nodes send to each other, acknowledge and drop expired keys, until nothing changes any more. */
export function exchange(nodes: readonly TestNode[]): void {
  for (let round = 0; round < 4; round++) {
    for (const from of nodes) for (const to of nodes) if (from !== to) send(from, to);
    for (const node of nodes) acknowledge(node, nodes);
    for (const { engine } of nodes) engine.expireSome(1_000_000);
  }
}
