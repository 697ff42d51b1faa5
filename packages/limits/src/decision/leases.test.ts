import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { item, LimitNode } from '../testing/limit-node.js';
import type { Item } from './decision.js';

const HOLD_MS = 30_000;
let node: LimitNode;

function define(): void {
  node = new LimitNode();
  for (const [name, limit] of [
    ['jobs', 2],
    ['org-jobs', 3],
  ] as const)
    node.define({ name, limit, windowMs: 0, leaseMs: HOLD_MS });
  node.define({ name: 'calls', limit: 4, windowMs: 3_600_000 });
}
beforeEach(define);

const jobs = (lease: string, more: Partial<Item> = {}) => item('concurrency', 'jobs', 2, { lease, ...more });
const calls = item('exact', 'calls', 4, { windowMs: 3_600_000 });
const left = (one: Item) => node.decide([{ ...one, cost: 0 }], true).items[0].remaining;

describe('a limit on leases in a check', () => {
  test('admits as many leases as its limit, until one is released or its time is over', () => {
    expect(node.decide([jobs('a')])).toMatchObject({ allowed: true, limit: 2, remaining: 1, resetMs: -1 });
    expect(node.decide([jobs('b')])).toMatchObject({ allowed: true, remaining: 0 });
    const denied = node.decide([jobs('c')]);
    expect(denied).toMatchObject({ allowed: false, deniedBy: 'jobs', remaining: 0 });
    expect(denied.retryAfterMs).toBeGreaterThan(0);
    expect(node.decider.release([jobs('a')])).toBe(true);
    expect(node.decider.release([jobs('a')])).toBe(false);
    expect(node.decide([jobs('c')]).allowed).toBe(true);
    expect(node.decide([jobs('d')]).allowed).toBe(false);
    node.advance(HOLD_MS + 2000);
    expect(node.decide([jobs('d')])).toMatchObject({ allowed: true, remaining: 1 });
  });

  test('gives a repetition the same lease, and charges the limits beside it once', () => {
    for (let time = 0; time < 5; time++) expect(node.decide([jobs('a'), calls]).allowed).toBe(true);
    expect(left(jobs(''))).toBe(1);
    expect(left(calls)).toBe(3);
    // Another subject, or another limit, has leases of its own under the same id.
    expect(node.decide([jobs('a', { subject: Buffer.from('other') })]).allowed).toBe(true);
    node.decider.release([jobs('a')]);
    expect(node.decide([jobs('a'), calls]).allowed).toBe(true);
    expect(left(calls)).toBe(2);
  });

  test('holds nothing where another limit denies, and lets no other limit be charged where it denies', () => {
    const spent = { ...calls, cost: 4 };
    expect(node.decide([spent]).allowed).toBe(true);
    expect(node.decide([jobs('a'), calls])).toMatchObject({ allowed: false, deniedBy: 'calls' });
    expect(left(jobs(''))).toBe(2);
    for (const lease of ['a', 'b']) node.decide([jobs(lease)]);
    const slide = item('sliding', 'slide', 9);
    expect(node.decide([slide, jobs('c')])).toMatchObject({ allowed: false, deniedBy: 'jobs' });
    expect(left(slide)).toBe(9);
  });

  test('is looked at without taking one, and of 0 gives none', () => {
    for (let time = 0; time < 5; time++) expect(node.decide([jobs('a')], true)).toMatchObject({ remaining: 2 });
    node.define({ name: 'none', limit: 0, windowMs: 0, leaseMs: HOLD_MS });
    expect(node.decide([item('concurrency', 'none', 0, { lease: 'a' })])).toMatchObject({ allowed: false });
  });

  test('never denies in shadow, and holds leases as far as there are some', () => {
    for (const lease of ['a', 'b', 'c']) expect(node.decide([jobs(lease, { shadow: true }), calls]).allowed).toBe(true);
    expect(left(jobs(''))).toBe(0);
    expect(left(calls)).toBe(1);
  });
});

test('leases and limits beside them are those of a model that takes all or none', () => {
  const step = fc.record({
    lease: fc.constantFrom('a', 'b', 'c', 'd'),
    user: fc.constantFrom('x', 'y'),
    act: fc.constantFrom('check', 'check', 'check', 'release'),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      define();
      const held = new Set<string>();
      let callsLeft = 4;
      for (const { lease, user, act } of steps) {
        const own = jobs(lease, { subject: Buffer.from(user) });
        const parent = item('concurrency', 'org-jobs', 3, { lease: `${user}${lease}` });
        const name = `${user}${lease}`;
        if (act === 'release') {
          expect(node.decider.release([own, parent])).toBe(held.delete(name));
          continue;
        }
        const ofUser = [...held].filter((other) => other.startsWith(user)).length;
        const isHeld = held.has(name);
        const allowed = isHeld || (ofUser < 2 && held.size < 3 && callsLeft > 0);
        expect(node.decide([own, parent, calls]).allowed).toBe(allowed);
        if (allowed && !isHeld) callsLeft--;
        if (allowed) held.add(name);
        expect(left(parent)).toBe(3 - held.size);
        expect(left(calls)).toBe(callsLeft);
      }
    }),
    { numRuns: 100 },
  );
});
