import { describe, expect, test } from 'vitest';
import { OWN_ORIGIN } from '../memory/layout.js';
import { checkConsistency } from '../testing/check-consistency.js';
import { componentsOf } from '../testing/inspect.js';
import { makeNode, partsOf, START_MS, send } from '../testing/nodes.js';
import { add, expireAt, read, remove } from '../testing/single-key.js';
import { Applied } from './merge.js';

describe('merging', () => {
  test('takes keys of every length, also where they fill the batch to its last byte', () => {
    const from = makeNode(1, { maxMemoryBytes: 8 * 1024 * 1024 });
    const to = makeNode(2, { maxMemoryBytes: 8 * 1024 * 1024 });
    const lengths = [0, 1, 2, 3, 4, 5, 4095, 4096, 4097, 8191, 8192, 8193, 65535, 65536];
    for (const length of lengths) {
      add(from.engine, 'k'.repeat(length), BigInt(length + 1));
      const [part] = partsOf(from.engine, OWN_ORIGIN, to.engine.origins.count === 1 ? 0 : to.engine.seen(0, 1));
      expect(to.merge.apply(part)).toBe(Applied.Ok);
    }
    for (const length of lengths) expect(read(to.engine, 'k'.repeat(length)).value).toBe(BigInt(length + 1));
  });

  test("refuses batches of this node's own components", () => {
    const node = makeNode(1);
    const other = makeNode(2);
    add(node.engine, 'a', 1n);
    send(node, other);
    const [part] = partsOf(other.engine, 1, 0);
    add(node.engine, 'a', 1n);
    expect(node.merge.apply(part)).toBe(Applied.Own);
    expect(read(node.engine, 'a').value).toBe(2n);
  });

  test('does not let in again what an earlier part of a walk, still under way, said to be over', () => {
    const [from, to] = [makeNode(1), makeNode(2)];
    const oneEach = { components: 1, keyBytes: 1000 };
    add(from.engine, 'a', 1n);
    const [stale] = partsOf(from.engine, OWN_ORIGIN, 0);
    remove(from.engine, 'a');
    add(from.engine, 'b', 1n);
    const [first, last] = partsOf(from.engine, OWN_ORIGIN, 0, oneEach);
    for (const part of [first, stale, last]) expect(to.merge.apply(part)).toBe(Applied.Ok);
    expect(to.engine.seen(0, 1)).toBe(from.engine.seen(0, OWN_ORIGIN));
    expect(read(to.engine, 'a').exists).toBe(false);
    expect(componentsOf(to.engine, 'a')).toEqual([]);
    checkConsistency(to.engine);
  });

  test('does not let in again what an earlier part of a walk, still under way, said to be long expired', () => {
    const [from, to] = [makeNode(1), makeNode(2)];
    const oneEach = { components: 1, keyBytes: 1000 };
    add(from.engine, 'a', 1n);
    const [stale] = partsOf(from.engine, OWN_ORIGIN, 0);
    expireAt(from.engine, 'a', START_MS + 1000);
    add(from.engine, 'b', 1n);
    const [first, last] = partsOf(from.engine, OWN_ORIGIN, 0, oneEach);
    to.engine.advanceTo(START_MS + 5000);
    for (const part of [first, stale]) to.merge.apply(part);
    to.engine.expireSome(100);
    for (const part of [stale, last]) to.merge.apply(part);
    to.engine.advanceTo(START_MS + 10_000);
    to.engine.expireSome(100);
    expect(to.engine.seen(0, 1)).toBe(from.engine.seen(0, OWN_ORIGIN));
    expect(componentsOf(to.engine, 'a')).toEqual([]);
    checkConsistency(to.engine);
  });

  test('keeps a component that expired in a part of a walk until that walk has come to its end', () => {
    const [from, to] = [makeNode(1), makeNode(2)];
    const oneEach = { components: 1, keyBytes: 1000 };
    add(from.engine, 'a', 1n);
    const [stale] = partsOf(from.engine, OWN_ORIGIN, 0);
    expireAt(from.engine, 'a', START_MS + 1000);
    add(from.engine, 'b', 1n);
    const [first, last] = partsOf(from.engine, OWN_ORIGIN, 0, oneEach);
    to.merge.apply(first);
    to.engine.advanceTo(START_MS + 5000);
    to.engine.expireSome(100);
    for (const part of [stale, last]) to.merge.apply(part);
    to.engine.advanceTo(START_MS + 10_000);
    to.engine.expireSome(100);
    expect(componentsOf(to.engine, 'a')).toEqual([]);
    expect(to.engine.stats()).toMatchObject({ keys: 1, removedKeysRetained: 0, keysWithExpiry: 0 });
    checkConsistency(to.engine);
  });

  test('takes a walk in one part, whatever came before under the same number from another sender', () => {
    const [origin, relay, to] = [makeNode(1), makeNode(2), makeNode(3)];
    for (const key of ['a', 'b', 'c']) add(origin.engine, key, 1n);
    const [, stray] = partsOf(origin.engine, OWN_ORIGIN, 0, { components: 2, keyBytes: 1000 });
    relay.merge.apply(stray);
    const [relayed] = partsOf(relay.engine, 1, 0);
    const [whole] = partsOf(origin.engine, OWN_ORIGIN, 0);
    whole.walk = relayed.walk;
    to.merge.apply(relayed);
    to.merge.apply(whole);
    expect(to.engine.seen(0, 1)).toBe(origin.engine.seen(0, OWN_ORIGIN));
  });

  test('reports a gap and takes nothing of it', () => {
    const from = makeNode(1);
    const to = makeNode(2);
    add(from.engine, 'a', 1n);
    const cut = from.engine.seen(0, OWN_ORIGIN);
    add(from.engine, 'b', 1n);
    const [part] = partsOf(from.engine, OWN_ORIGIN, cut);
    expect(to.merge.apply(part)).toBe(Applied.Gap);
    expect(read(to.engine, 'b').exists).toBe(false);
  });
});
