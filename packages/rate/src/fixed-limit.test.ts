import { ByteInput, Status } from '@quotadb/engine';
import { beforeEach, describe, expect, test } from 'vitest';
import { FixedLimit } from './fixed-limit.js';
import { Charge } from './sliding-limit.js';
import { exchange, RateNode, WINDOW_MS, WINDOW_START_MS } from './testing/rate-node.js';

let node: RateNode;
beforeEach(() => {
  node = new RateNode();
});

const fixed = new FixedLimit();

function decide(limit: number, cost = 1, charge: Charge = Charge.IfAllowed, on = node) {
  const startMs = Math.floor(on.nowMs / WINDOW_MS) * WINDOW_MS;
  fixed.locate(on.engine, ByteInput.copyOf(Buffer.from('k')), 0, 1, limit, startMs, WINDOW_MS);
  expect(fixed.decide(on.engine, cost, charge)).toBe(Status.Ok);
  const { allowed, remaining, resetAfterMs, retryAfterMs } = fixed;
  return { allowed, remaining, resetAfterMs, retryAfterMs };
}

describe('a limit on a fixed window', () => {
  test('admits as much as its limit in each window, and a denied request counts nothing', () => {
    expect(decide(3, 2)).toEqual({ allowed: true, remaining: 1, resetAfterMs: WINDOW_MS, retryAfterMs: 0 });
    node.advance(4_000);
    for (let time = 0; time < 3; time++)
      expect(decide(3, 2)).toEqual({ allowed: false, remaining: 1, resetAfterMs: 6_000, retryAfterMs: 6_000 });
    expect(decide(3, 1).allowed).toBe(true);
    expect(decide(3, 4)).toMatchObject({ allowed: false, retryAfterMs: -1 });
    node.advance(6_000);
    expect(decide(3, 3)).toMatchObject({ allowed: true, remaining: 0 });
  });

  test('is looked at without a count, and counts what was admitted elsewhere', () => {
    expect(decide(3, 3, Charge.Never)).toMatchObject({ allowed: true, remaining: 3 });
    expect(decide(3, 5, Charge.Always)).toMatchObject({ allowed: false, remaining: 0 });
    expect(decide(9)).toMatchObject({ allowed: true, remaining: 3 });
  });

  test('takes a cost out again, also one that needs more than 32 bits', () => {
    for (const cost of [1, 2 ** 32 + 3, 2 ** 40]) {
      expect(decide(2 ** 41, cost).remaining).toBe(2 ** 41 - cost);
      fixed.undo(node.engine, cost);
      expect(decide(2 ** 41, 0, Charge.Never).remaining).toBe(2 ** 41);
    }
  });

  test('counts where WINDOW.INCRBY counts, in all regions', () => {
    const other = new RateNode({ originByte: 2 });
    node.increment(2);
    decide(10, 3);
    expect(node.countOf('k', WINDOW_MS, WINDOW_START_MS)).toBe(5);
    decide(10, 4, Charge.IfAllowed, other);
    exchange([node, other]);
    expect(decide(10, 2)).toMatchObject({ allowed: false, remaining: 1 });
    expect(decide(10, 1, Charge.IfAllowed, other)).toMatchObject({ allowed: true, remaining: 0 });
  });
});
