import { describe, expect, test } from 'vitest';
import { exchange, makeNode, type TestNode, tell } from './testing/nodes.js';
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
