import { describe, expect, test } from 'vitest';
import { Merge } from '../batches/merge.js';
import { recordOf } from '../testing/inspect.js';
import { exchange, makeNode, START_MS, send, sendOrigin, type TestNode } from '../testing/nodes.js';
import { add, assign, read, remove } from '../testing/single-key.js';
import { Engine } from './engine.js';

const KEY = 'visits';

function values(...nodes: TestNode[]): bigint[] {
  return nodes.map(({ engine }) => read(engine, KEY).value);
}

describe('a reset', () => {
  test('cancels what it has seen of others, and nothing else', () => {
    const [here, there] = [makeNode(1), makeNode(2)];
    add(there.engine, KEY, 10n);
    send(there, here);
    add(there.engine, KEY, 100n);
    remove(here.engine, KEY);
    expect(values(here, there)).toEqual([0n, 110n]);
    exchange([here, there]);
    expect(values(here, there)).toEqual([100n, 100n]);
  });

  test('of decrements leaves those it has not seen', () => {
    const [here, there] = [makeNode(1), makeNode(2)];
    add(there.engine, KEY, -10n);
    send(there, here);
    add(there.engine, KEY, -100n);
    add(there.engine, KEY, 1000n);
    assign(here.engine, KEY, 5n);
    exchange([here, there]);
    expect(values(here, there)).toEqual([905n, 905n]);
  });

  test('that two nodes make of the same key at once leaves nothing behind', () => {
    const [here, there] = [makeNode(1), makeNode(2)];
    add(here.engine, KEY, 1n);
    add(there.engine, KEY, 10n);
    exchange([here, there]);
    remove(here.engine, KEY);
    remove(there.engine, KEY);
    exchange([here, there]);
    expect(values(here, there)).toEqual([0n, 0n]);
    for (const { engine } of [here, there]) expect(engine.stats()).toMatchObject({ keys: 0, removedKeysRetained: 0 });
  });

  test('is sent to the others, in any shard, and with any shards acknowledged before', () => {
    const origin = new Uint8Array(32).fill(9);
    const engine = Engine.format({ maxMemoryBytes: 4 * 1024 * 1024, nowMs: START_MS, shardCount: 2, origin });
    const there = makeNode(2, { shardCount: 2 });
    const keys = ['a', 'b', 'c', 'd', 'e', 'f'];
    for (const key of keys) add(engine, key, 1n);
    const here = { engine, merge: new Merge(engine) };
    send(here, there);
    engine.acknowledge(1, 0);
    for (const key of keys) remove(engine, key);
    engine.acknowledge(0, 0);
    send(here, there);
    const inSecondShard = keys.filter((key) => recordOf(there.engine, key).shard === there.engine.store.shardAt(1));
    expect(inSecondShard.length).toBeGreaterThan(0);
    for (const key of inSecondShard) expect(read(there.engine, key).exists).toBe(false);
  });

  test('is not dropped before every replica has seen that the cancelled generation is over', () => {
    const [resetting, owner, late] = [makeNode(1), makeNode(2), makeNode(3)];
    for (const { engine } of [resetting, owner, late]) engine.startRelaying();
    add(owner.engine, KEY, 10n);
    for (const node of [resetting, late]) send(owner, node);
    remove(resetting.engine, KEY);
    for (const node of [owner, late]) send(resetting, node);
    // The owner has ended that generation and begun another. The one that is late hears of the resetting one's next
    // change first.
    add(owner.engine, KEY, 100n);
    send(owner, resetting);
    add(resetting.engine, KEY, 1000n);
    sendOrigin(resetting, late, 0);
    expect(values(late)).toEqual([1000n]);
    remove(resetting.engine, KEY);
    sendOrigin(resetting, late, 0);
    expect(values(late)).toEqual([0n]);
    send(owner, late);
    for (const { engine } of [resetting, late]) {
      const index = engine.origins.find(owner.engine.origins.idOf(0));
      engine.garbageCollection.acknowledgeOther(0, index, owner.engine.seen(0, 0));
    }
    exchange([resetting, owner, late]);
    for (const { engine } of [resetting, owner, late]) {
      for (let origin = 1; origin < engine.origins.count; origin++)
        engine.garbageCollection.acknowledgeOther(0, origin, Number.POSITIVE_INFINITY);
    }
    exchange([resetting, owner, late]);
    expect(values(resetting, owner, late)).toEqual([0n, 0n, 0n]);
  });

  test('is kept when another node than the owner reports that the cancelled generation is gone', () => {
    const [here, owner] = [makeNode(1), makeNode(2)];
    add(owner.engine, KEY, 10n);
    send(owner, here);
    remove(here.engine, KEY);
    // To another it has expired; the owner, out of reach, counts on.
    expect(here.merge.dropGone(1, Buffer.from(KEY), here.engine.seen(0, 1), false)).toBe(true);
    add(owner.engine, KEY, 100n);
    send(owner, here);
    expect(values(here)).toEqual([100n]);
  });

  test('is sent again then, and the owner, which has dropped that generation, sends again that it is over', () => {
    const [here, owner] = [makeNode(1), makeNode(2)];
    for (const { engine } of [here, owner]) engine.startRelaying();
    add(owner.engine, KEY, 10n);
    send(owner, here);
    remove(here.engine, KEY);
    send(here, owner);
    // It has answered, and every node but this one has received that.
    owner.engine.acknowledge(0, owner.engine.seen(0, 0));
    const sent = here.engine.seen(0, 0);
    here.merge.dropGone(1, Buffer.from(KEY), here.engine.seen(0, 1), false);
    expect(here.engine.seen(0, 0)).toBeGreaterThan(sent);
    send(here, owner);
    send(owner, here);
    here.engine.garbageCollection.acknowledgeOther(0, 1, owner.engine.seen(0, 0));
    here.engine.acknowledge(0, here.engine.seen(0, 0));
    expect(here.engine.stats().removedKeysRetained).toBe(0);
  });

  test('of a value that others hold at zero removes the key everywhere', () => {
    const [here, there] = [makeNode(1), makeNode(2)];
    assign(here.engine, KEY, 0n);
    send(here, there);
    expect(read(there.engine, KEY).exists).toBe(true);
    remove(there.engine, KEY);
    exchange([here, there]);
    for (const { engine } of [here, there]) expect(read(engine, KEY).exists).toBe(false);
  });
});
