import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { item, LimitNode } from '../testing/limit-node.js';
import { Counters, subjectOfCounter } from './counters.js';

const KINDS = ['sliding', 'fixed', 'bucket'] as const;
const ALL = Number.POSITIVE_INFINITY;
let node: LimitNode;
let counters: Counters;

beforeEach(() => {
  node = new LimitNode();
  counters = new Counters(node.engine, () => 20);
});

describe.each(KINDS)('what was used of a limit of kind %s', (kind) => {
  const api = item(kind, 'api', 5, { windowMs: 3_600_000 });

  test('is given back, and no more than that', () => {
    expect(node.decide([{ ...api, cost: 4 }]).remaining).toBe(1);
    expect(counters.refund(api, 3)).toMatchObject({ refunded: 3, standing: { limit: 5, remaining: 4 } });
    expect(counters.refund(api, 3)).toMatchObject({ refunded: 1, standing: { remaining: 5 } });
    expect(counters.refund(api, ALL)).toMatchObject({ refunded: 0, standing: { remaining: 5 } });
    expect(node.decide([{ ...api, cost: 5 }])).toMatchObject({ allowed: true, remaining: 0 });
    expect(node.decide([api]).allowed).toBe(false);
    expect(counters.refund(api, ALL)).toMatchObject({ refunded: 5, standing: { remaining: 5 } });
  });

  test('of another subject, and of a subject that used nothing, stays as it is', () => {
    const other = { ...api, subject: Buffer.from('other') };
    node.decide([{ ...other, cost: 2 }]);
    const keys = node.engine.keyCount();
    expect(counters.refund(api, ALL)).toMatchObject({ refunded: 0, standing: { remaining: 5 } });
    expect(node.engine.keyCount()).toBe(keys);
    expect(counters.standing(other).remaining).toBe(3);
  });

  test('is that of a model, whatever is checked and refunded', () => {
    const step = fc.record({ isRefund: fc.boolean(), amount: fc.integer({ min: 1, max: 6 }) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        node = new LimitNode();
        counters = new Counters(node.engine, () => 20);
        let used = 0;
        for (const { isRefund, amount } of steps) {
          if (isRefund) {
            const refunded = Math.min(used, amount);
            expect(counters.refund(api, amount).refunded).toBe(refunded);
            used -= refunded;
          } else if (node.decide([{ ...api, cost: amount }]).allowed) used += amount;
          expect(used).toBeLessThanOrEqual(5);
          expect(counters.standing(api).remaining).toBe(5 - used);
        }
      }),
      { numRuns: 50 },
    );
  });

  test('is found by the keys of the store', () => {
    for (const subject of ['ann', 'bob']) node.decide([{ ...api, subject: Buffer.from(subject) }]);
    node.decide([{ ...api, name: 'other' }]);
    const found = new Set<string>();
    node.engine.scan(0n, 1000, (key) => {
      const subject = subjectOfCounter(key, 'api', kind);
      if (subject !== undefined) found.add(Buffer.from(subject).toString());
    });
    expect(found).toEqual(new Set(['ann', 'bob']));
  });
});

test('of a sliding window the window before is given back too', () => {
  const slide = item('sliding', 'slide', 10);
  node.decide([{ ...slide, cost: 8 }]);
  node.advance(60_000);
  node.decide([{ ...slide, cost: 2 }]);
  expect(counters.standing(slide).remaining).toBe(0);
  expect(counters.refund(slide, 3)).toMatchObject({ refunded: 3, standing: { remaining: 3 } });
  expect(counters.refund(slide, ALL)).toMatchObject({ refunded: 7, standing: { remaining: 10 } });
});

test('of a bucket that fills by and by, a request that is partly back is given back whole', () => {
  const bucket = item('bucket', 'bucket', 6);
  node.decide([{ ...bucket, cost: 6 }]);
  node.advance(5_000);
  expect(counters.refund(bucket, ALL)).toMatchObject({ refunded: 6, standing: { remaining: 6, resetMs: 0 } });
});

test('without a limit nothing is counted, and nothing is given back', () => {
  const free = item('fixed', 'free', ALL);
  expect(counters.refund(free, ALL)).toEqual({
    refunded: 0,
    standing: { allowed: true, limit: ALL, remaining: ALL, resetMs: -1, retryAfterMs: 0 },
  });
});
