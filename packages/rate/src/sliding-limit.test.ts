import { Status } from '@quotadb/engine';
import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { CELL_MARGIN_MS } from './cell-key.js';
import { RateNode, WINDOW_MS } from './testing/rate-node.js';

let node: RateNode;
beforeEach(() => {
  node = new RateNode();
});

describe('a sliding limit', () => {
  test('admits up to the limit, and says what remains and when the window ends', () => {
    expect(node.limit(2)).toEqual({ allowed: true, limit: 2, remaining: 1, resetAfterMs: 10_000, retryAfterMs: 0 });
    node.advance(1_000);
    expect(node.limit(2)).toEqual({ allowed: true, limit: 2, remaining: 0, resetAfterMs: 9_000, retryAfterMs: 0 });
    expect(node.limit(2).allowed).toBe(false);
  });

  test('a request that is denied burns nothing', () => {
    node.limit(10, 7);
    for (let attempt = 0; attempt < 100; attempt++) expect(node.limit(10, 4).allowed).toBe(false);
    expect(node.cells().currentOwn).toBe(7);
    expect(node.limit(10, 3).allowed).toBe(true);
    const fresh = new RateNode();
    expect(fresh.limit(0).allowed).toBe(false);
    expect(fresh.engine.keyCount()).toBe(0);
  });

  test('the window before fades as the current one goes by', () => {
    node.limit(100, 100);
    node.advance(WINDOW_MS);
    expect(node.limit(100).allowed).toBe(false);
    node.advance(WINDOW_MS / 4);
    expect(node.peek(100).remaining).toBe(25);
    expect(node.limit(100, 25).allowed).toBe(true);
    expect(node.limit(100).allowed).toBe(false);
    node.advance(WINDOW_MS / 4);
    expect(node.limit(100, 25).remaining).toBe(0);
  });

  test('after as long as it says, a request is admitted, and not a millisecond earlier', () => {
    node.limit(10, 10);
    node.advance(3_333);
    const { retryAfterMs } = node.limit(10, 4);
    node.advance(retryAfterMs - 1);
    expect(node.peek(10, 4).allowed).toBe(false);
    node.advance(1);
    expect(node.limit(10, 4)).toMatchObject({ allowed: true, remaining: 0 });
  });

  test('what costs more than the limit will never be admitted', () => {
    expect(node.limit(10, 11)).toMatchObject({ allowed: false, remaining: 10, retryAfterMs: -1 });
  });

  test('a cost of 0 asks whether the limit holds, and counts nothing', () => {
    expect(node.limit(0, 0)).toMatchObject({ allowed: true, remaining: 0 });
    expect(node.engine.keyCount()).toBe(0);
  });

  test('the limit is no part of the count: another limit sees the same count', () => {
    node.limit(10, 8);
    expect(node.limit(5)).toMatchObject({ allowed: false, remaining: 0 });
    expect(node.limit(20)).toMatchObject({ allowed: true, remaining: 11 });
  });

  test('identifiers, window lengths and fixed windows count apart', () => {
    node.limit(10, 5);
    node.limit(10, 3, 'k', WINDOW_MS + 1);
    node.limit(10, 2, 'kk');
    node.increment(9);
    expect(node.cells().currentOwn).toBe(5);
    expect(node.cells('k', WINDOW_MS + 1).currentOwn).toBe(3);
    expect(node.cells('kk').currentOwn).toBe(2);
  });

  test('cells go after the window in which they are the one before', () => {
    node.limit(10, 5);
    node.advance(2 * WINDOW_MS - 1);
    expect(node.cells().previousOwn).toBe(5);
    node.advance(1 + CELL_MARGIN_MS + 1_000);
    node.expireAll();
    expect(node.engine.keyCount()).toBe(0);
  });

  test('in any window of time no more than the limit and what fades in the meantime is admitted', () => {
    const step = fc.record({ afterMs: fc.integer({ min: 0, max: WINDOW_MS }), cost: fc.integer({ min: 0, max: 6 }) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), fc.integer({ min: 1, max: 20 }), (steps, limit) => {
        const fresh = new RateNode();
        const admitted: { atMs: number; cost: number }[] = [];
        for (const { afterMs, cost } of steps) {
          fresh.advance(afterMs);
          const atMs = fresh.nowMs;
          const { allowed, remaining } = fresh.limit(limit, cost);
          const inWindow = (from: number, to: number) =>
            admitted.filter((one) => one.atMs >= from && one.atMs < to).reduce((sum, one) => sum + one.cost, 0);
          const windowStart = Math.floor(atMs / WINDOW_MS) * WINDOW_MS;
          const current = inWindow(windowStart, windowStart + WINDOW_MS);
          const previous = inWindow(windowStart - WINDOW_MS, windowStart);
          const weighted = (previous * (WINDOW_MS - (atMs - windowStart))) / WINDOW_MS;
          expect(allowed).toBe(current + weighted + cost <= limit);
          if (allowed) admitted.push({ atMs, cost });
          const after = current + (allowed ? cost : 0);
          expect(remaining).toBe(Math.max(Math.floor(limit - after - weighted), 0));
          // No fixed window ever admits more than the limit.
          expect(after).toBeLessThanOrEqual(limit);
        }
      }),
      { numRuns: 60 },
    );
  });

  test('limits and costs up to 2^53 − 1 are exact', () => {
    const highest = Number.MAX_SAFE_INTEGER;
    expect(node.limit(highest, highest - 1)).toMatchObject({ allowed: true, remaining: 1 });
    expect(node.limit(highest, 2).allowed).toBe(false);
    expect(node.limit(highest, 1)).toMatchObject({ allowed: true, remaining: 0 });
    node.advance(WINDOW_MS + 1);
    expect(node.peek(highest).remaining).toBe(Number(9007199254740991n - (9007199254740991n * 9999n + 9999n) / 10000n));
  });

  test('a window so long that there is none before it', () => {
    expect(node.limit(5, 5, 'k', 2 ** 47 - 1).remaining).toBe(0);
    expect(node.cells('k', 2 ** 47 - 1)).toMatchObject({ currentOwn: 5, previousOwn: 0 });
  });
});

test('a decision that never charges says the same, and counts nothing', () => {
  for (let count = 0; count < 5; count++) expect(node.peek(3)).toMatchObject({ allowed: true, remaining: 3 });
  node.limit(3, 3);
  expect(node.peek(3)).toEqual({ ...node.limit(3), allowed: false });
});

test('a decision that always charges counts past the limit too', () => {
  expect(node.add(10, 7)).toMatchObject({ allowed: true, remaining: 3 });
  expect(node.add(10, 7)).toMatchObject({ allowed: false, remaining: 0 });
  expect(node.cells().currentOwn).toBe(14);
  expect(node.limit(10).allowed).toBe(false);
});

describe('several limits at once', () => {
  test('count against all limits', () => {
    expect(node.limitAll(2, ['a', 10, WINDOW_MS], ['b', 20, 1_000])).toEqual([
      { allowed: true, limit: 10, remaining: 8, resetAfterMs: 10_000, retryAfterMs: 0 },
      { allowed: true, limit: 20, remaining: 18, resetAfterMs: 1_000, retryAfterMs: 0 },
    ]);
  });

  test('where one denies, nothing is counted against any, and each has its own answer', () => {
    node.limit(10, 9, 'b');
    const decisions = node.limitAll(2, ['a', 10, WINDOW_MS], ['b', 10, WINDOW_MS], ['c', 10, WINDOW_MS]);
    expect(decisions.map(({ allowed }) => allowed)).toEqual([true, false, true]);
    expect(decisions[1]).toMatchObject({ remaining: 1, retryAfterMs: 11_112 });
    expect(node.cells('a').currentOwn).toBe(0);
    expect(node.cells('b').currentOwn).toBe(9);
  });

  test('a cell that is named twice is counted in once, under both limits', () => {
    const limits = [
      ['a', 10, WINDOW_MS],
      ['a', 5, WINDOW_MS],
    ] as const;
    expect(node.limitAll(3, ...limits)[0]).toMatchObject({ allowed: true, remaining: 7 });
    expect(node.cells('a').currentOwn).toBe(3);
    expect(node.limitAll(3, ...limits).map(({ allowed }) => allowed)).toEqual([true, false]);
    expect(node.cells('a').currentOwn).toBe(3);
  });

  test('without memory for one of the cells nothing is counted in the others', () => {
    const small = new RateNode({ maxMemoryBytes: 4 * 1024 * 1024 });
    small.limit(10, 1, 'there');
    for (const bytes of [50_000, 300]) {
      const fill = (key: number) => small.increment(1, `${'k'.repeat(bytes)}${key}`);
      expect(() => {
        for (let key = 0; ; key++) fill(key);
      }).toThrow('refused');
    }
    const limits = [
      ['there', 10, WINDOW_MS],
      ['n'.repeat(40_000), 10, WINDOW_MS],
    ] as const;
    expect(() => small.limitAll(1, ...limits)).toThrow(`status ${Status.OutOfMemory}`);
    expect(small.cells('there').currentOwn).toBe(1);
  });
});
