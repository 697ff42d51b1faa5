import { describe, expect, test } from 'vitest';
import { Applied, Merge } from '../batches/merge.js';
import { Engine } from '../keys/engine.js';
import { checkConsistency } from '../testing/check-consistency.js';
import { exchange, makeNode, partsOf, START_MS, send, type TestNode } from '../testing/nodes.js';
import { add, expireAt, read } from '../testing/single-key.js';
import { MAX_ORIGINS, MAX_ORIGINS_OF_REPLICA, MAX_ORIGINS_UNHEARD, OWN_ORIGIN } from './layout.js';

const KEYS = ['a', 'b', 'c', 'd'];

function idOf(number: number, incarnation = 0): Uint8Array {
  const id = new Uint8Array(32);
  new DataView(id.buffer).setUint32(0, number);
  new DataView(id.buffer).setUint32(28, incarnation);
  return id;
}

/** A node that has counted every key once. */
function writer(name: number, shardCount = 1, origin?: Uint8Array): TestNode {
  const node = makeNode(name, { shardCount, ...(origin && { origin }) });
  for (const key of KEYS) add(node.engine, key, 1n);
  return node;
}

function makeEngine(): Engine {
  return Engine.format({
    maxMemoryBytes: 4 * 1024 * 1024,
    shared: true,
    shardCount: 1,
    origin: idOf(0),
    nowMs: START_MS,
  });
}

describe('origins', () => {
  test('get the same index from every thread', () => {
    const engine = makeEngine();
    const other = Engine.attach(engine.buffer);
    expect(engine.origins.intern(idOf(7))).toBe(1);
    expect(other.origins.intern(idOf(8))).toBe(2);
    expect(engine.origins.find(idOf(8))).toBe(2);
    expect(other.origins.find(idOf(7))).toBe(1);
    expect(engine.origins.find(idOf(0))).toBe(OWN_ORIGIN);
    expect(engine.origins.find(idOf(9))).toBe(-1);
    expect(engine.origins.idOf(2)).toEqual(idOf(8));
  });

  test('that are too many are refused, and so are batches of them, as long as all of them hold something', () => {
    const engine = makeEngine();
    const merge = new Merge(engine);
    for (let number = 1; number < MAX_ORIGINS; number++) {
      expect(engine.origins.intern(idOf(number))).toBe(number);
      engine.origins.hold(number);
    }
    expect(engine.origins.intern(idOf(MAX_ORIGINS))).toBe(-1);
    expect(engine.origins.refusal).toContain('512 incarnations');
    expect(engine.origins.intern(idOf(3))).toBe(3);
    const [batch] = partsOf(writer(77).engine, OWN_ORIGIN, 0);
    expect(merge.apply(batch)).toBe(Applied.OriginRefused);
    engine.origins.release(9);
    expect(merge.apply(batch)).toBe(Applied.Ok);
    expect(engine.origins.find(batch.origin)).toBe(9);
    expect(engine.origins.find(idOf(9))).toBe(-1);
  });

  test('of one replica are bounded, and give way to each other, the oldest first', () => {
    const engine = makeEngine();
    const other = Engine.attach(engine.buffer);
    const incarnation = (number: number) => idOf(1, number);
    for (let number = 0; number < MAX_ORIGINS_OF_REPLICA; number++) engine.origins.intern(incarnation(number));
    expect(engine.origins.intern(idOf(2))).toBe(MAX_ORIGINS_OF_REPLICA + 1);
    expect(other.origins.find(incarnation(0))).toBe(1);
    engine.origins.hold(1);
    expect(engine.origins.intern(incarnation(1000))).toBe(2);
    expect(engine.origins.intern(incarnation(1001))).toBe(3);
    expect(other.origins.find(incarnation(0))).toBe(1);
    expect(other.origins.find(incarnation(1))).toBe(-1);
    expect(other.origins.find(incarnation(1000))).toBe(2);
    for (let number = 2; number <= MAX_ORIGINS_OF_REPLICA; number++) engine.origins.hold(number);
    expect(engine.origins.intern(incarnation(1002))).toBe(-1);
    expect(engine.origins.refusal).toContain('--data');
    expect(engine.origins.intern(idOf(3))).toBe(MAX_ORIGINS_OF_REPLICA + 2);
  });

  test('that come into the slot of another inherit nothing from it', () => {
    const { engine, merge } = makeNode(1, { shardCount: 2 });
    const first = writer(7, 2);
    send(first, { engine, merge });
    const index = engine.origins.find(first.engine.origins.ownId);
    const order = engine.origins.orderOf(index);
    for (const key of KEYS) expireAt(engine, key, START_MS + 1);
    engine.advanceTo(START_MS + 100);
    exchange([first, { engine, merge }]);
    // Its origin holds nothing now, and its replica comes back until the slot is needed.
    for (let number = 1; number < MAX_ORIGINS_OF_REPLICA; number++) {
      const id = Uint8Array.from(first.engine.origins.ownId);
      new DataView(id.buffer).setUint32(28, number);
      engine.origins.hold(engine.origins.intern(id));
    }
    const id = Uint8Array.from(first.engine.origins.ownId);
    new DataView(id.buffer).setUint32(28, 1000);
    const next = writer(7, 2, id);
    send(next, { engine, merge });
    expect(engine.origins.find(id)).toBe(index);
    expect(engine.origins.orderOf(index)).toBeGreaterThan(order);
    for (let shard = 0; shard < 2; shard++) {
      expect(engine.seen(shard, index)).toBe(next.engine.seen(shard, OWN_ORIGIN));
      expect(engine.digestOf(shard, index)).toBe(next.engine.digestOf(shard, OWN_ORIGIN));
    }
    for (const key of KEYS) expect(read(engine, key).value).toBe(1n);
    checkConsistency(engine);
  });

  test('that only resets name are bounded: a peer cannot fill the table with them', () => {
    const { engine, merge } = makeNode(1);
    const [batch] = partsOf(writer(2).engine, OWN_ORIGIN, 0);
    for (let number = 0; number < 600; number++)
      batch.cancels.push({ origin: idOf(1000 + number), born: 1, positive: 1n, negative: 0n });
    batch.cancelEnd.fill(600, 0, batch.count);
    expect(merge.apply(batch)).toBe(Applied.OriginRefused);
    expect(engine.origins.count).toBeLessThan(MAX_ORIGINS_UNHEARD + 10);
    checkConsistency(engine);
    const [other] = partsOf(writer(3).engine, OWN_ORIGIN, 0);
    expect(merge.apply(other)).toBe(Applied.Ok);
  });

  test('have names of one length', () => {
    expect(() => makeEngine().origins.intern(new Uint8Array(31))).toThrow('32 bytes');
  });
});
