import { beforeEach, describe, expect, test } from 'vitest';
import { CELL_MARGIN_MS, MAX_CELL_KEY_BYTES, MAX_WINDOW_MS } from './cell-key.js';
import { RateNode, WINDOW_MS, WINDOW_START_MS } from './testing/rate-node.js';

let node: RateNode;
beforeEach(() => {
  node = new RateNode();
});

describe('a fixed window', () => {
  test('is the one that the node is in, which begins at a multiple of its length', () => {
    node.advance(1_234);
    expect(node.increment(5)).toBe(5);
    expect(node.increment(2)).toBe(7);
    expect(node.countOf()).toBe(7);
    expect([node.window.startMs, node.window.endMs]).toEqual([WINDOW_START_MS, WINDOW_START_MS + WINDOW_MS]);
    expect(node.countOf('other')).toBe(0);
  });

  test('never sees what another counted, at the millisecond of the boundary either', () => {
    node.advance(WINDOW_MS - 1);
    node.increment(5);
    node.advance(1);
    expect(node.countOf()).toBe(0);
    expect(node.increment(1)).toBe(1);
    expect(node.countOf('k', WINDOW_MS, WINDOW_START_MS)).toBe(5);
  });

  test('that a caller named does not stay the current one', () => {
    node.advance(5_000);
    node.increment(3, 'k', WINDOW_MS, node.nowMs - 17);
    expect(node.countOf()).toBe(0);
    expect(node.countOf('k', WINDOW_MS, node.nowMs - 17)).toBe(3);
  });

  test('of other lengths and identifiers counts apart, also where it begins at the same time', () => {
    const counts = [
      ['k', 1_000, 1],
      ['k', 1_001, 2],
      ['kk', 1_000, 3],
      ['', 1_000, 4],
    ] as const;
    for (const [key, lengthMs, amount] of counts) node.increment(amount, key, lengthMs, WINDOW_START_MS);
    for (const [key, lengthMs, amount] of counts) expect(node.countOf(key, lengthMs, WINDOW_START_MS)).toBe(amount);
  });

  test('expires when it has been over for the margin, and counting does not move that', () => {
    node.increment(1);
    node.advance(WINDOW_MS - 1);
    node.increment(1);
    node.advance(CELL_MARGIN_MS);
    expect(node.countOf('k', WINDOW_MS, WINDOW_START_MS)).toBe(2);
    expect(node.window.isOver(node.engine)).toBe(false);
    node.advance(1);
    expect(node.window.isOver(node.engine)).toBe(true);
    expect(node.countOf('k', WINDOW_MS, WINDOW_START_MS)).toBe(0);
    node.advance(1_000);
    node.expireAll();
    expect(node.engine.keyCount()).toBe(0);
  });

  test('is as long as 4,459 years, and no longer', () => {
    expect(node.increment(1, 'k', MAX_WINDOW_MS)).toBe(1);
    expect([node.window.startMs, node.window.endMs]).toEqual([0, MAX_WINDOW_MS]);
    for (const lengthMs of [0, -1_000, MAX_WINDOW_MS + 1])
      expect(node.window.chooseCurrent(node.engine, Math.floor(lengthMs / 2 ** 32), lengthMs | 0)).toBe(false);
  });

  test('counts for the longest identifier', () => {
    const key = 'k'.repeat(MAX_CELL_KEY_BYTES);
    node.increment(1, key);
    node.increment(5, `${key.slice(1)}l`);
    expect(node.increment(1, key)).toBe(2);
  });
});
