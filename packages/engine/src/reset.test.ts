import { describe, expect, test } from 'vitest';
import { Engine } from './engine.js';
import { Merge } from './merge.js';
import { recordOf } from './testing/inspect.js';
import { exchange, makeNode, START_MS, type TestNode, tell } from './testing/nodes.js';
import { add, assign, read, remove } from './testing/single-key.js';

const KEY = 'visits';

function values(...nodes: TestNode[]): bigint[] {
  return nodes.map(({ engine }) => read(engine, KEY).value);
}

describe('a reset', () => {
  test('cancels what it has seen of others, and nothing else', () => {
    const [here, there] = [makeNode(1), makeNode(2)];
    add(there.engine, KEY, 10n);
    tell(there, here);
    add(there.engine, KEY, 100n);
    remove(here.engine, KEY);
    expect(values(here, there)).toEqual([0n, 110n]);
    exchange([here, there]);
    expect(values(here, there)).toEqual([100n, 100n]);
  });

  test('of decrements leaves those it has not seen', () => {
    const [here, there] = [makeNode(1), makeNode(2)];
    add(there.engine, KEY, -10n);
    tell(there, here);
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

  test('is told to the others, whichever shard it was in and whichever shards they have acknowledged before', () => {
    const origin = new Uint8Array(32).fill(9);
    const engine = Engine.format({ maxMemoryBytes: 4 * 1024 * 1024, nowMs: START_MS, shardCount: 2, origin });
    const there = makeNode(2, { shardCount: 2 });
    const keys = ['a', 'b', 'c', 'd', 'e', 'f'];
    for (const key of keys) add(engine, key, 1n);
    const here = { engine, merge: new Merge(engine) };
    tell(here, there);
    engine.acknowledge(1, 0);
    for (const key of keys) remove(engine, key);
    engine.acknowledge(0, 0);
    tell(here, there);
    const inSecondShard = keys.filter((key) => recordOf(there.engine, key).shard === there.engine.store.shardAt(1));
    expect(inSecondShard.length).toBeGreaterThan(0);
    for (const key of inSecondShard) expect(read(there.engine, key).exists).toBe(false);
  });

  test('of a value that others hold at zero removes the key everywhere', () => {
    const [here, there] = [makeNode(1), makeNode(2)];
    assign(here.engine, KEY, 0n);
    tell(here, there);
    expect(read(there.engine, KEY).exists).toBe(true);
    remove(there.engine, KEY);
    exchange([here, there]);
    for (const { engine } of [here, there]) expect(read(engine, KEY).exists).toBe(false);
  });
});
