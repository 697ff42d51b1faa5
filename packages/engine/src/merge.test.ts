import { describe, expect, test } from 'vitest';
import { OWN_ORIGIN } from './layout.js';
import { Applied } from './merge.js';
import { makeNode, partsOf, tell } from './testing/nodes.js';
import { add, read } from './testing/single-key.js';

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

  test("refuses to be told about this node's own components", () => {
    const node = makeNode(1);
    const other = makeNode(2);
    add(node.engine, 'a', 1n);
    tell(node, other);
    const [part] = partsOf(other.engine, 1, 0);
    add(node.engine, 'a', 1n);
    expect(node.merge.apply(part)).toBe(Applied.Own);
    expect(read(node.engine, 'a').value).toBe(2n);
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
