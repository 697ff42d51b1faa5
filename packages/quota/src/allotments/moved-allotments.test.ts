import { beforeEach, expect, test } from 'vitest';
import { type Policy, windowAt } from '../policies/policy.js';
import { type LoneRegion, startLoneRegion } from '../testing/lone-region.js';
import { AllotmentKey } from './allotment.js';

const subject = Uint8Array.of(1);
const nowMs = Date.UTC(2026, 5, 1);
let region: LoneRegion;
let policy: Policy;

beforeEach(() => {
  region = startLoneRegion({ nowMs: () => nowMs });
  const definition = { name: 'calls', limit: 100, windowMs: 3_600_000, allocator: 'a', shares: [], waitMs: 0 };
  policy = region.book.define(definition, nowMs, () => ({ incarnation: 'a1', hasDisk: true }));
  region.broker.policiesChanged();
});

const allotment = () => ({ policy: policy.number, window: windowAt(policy, nowMs), subject });

function takeAll(): number {
  for (let taken = 0; ; taken++) {
    let isAllowed = false;
    region.operations.take({ items: [{ name: 'calls', subject, cost: 1 }] }, (answer) => {
      isAllowed = 'isAllowed' in answer && answer.isAllowed;
    });
    if (!isAllowed) return taken;
    region.broker.tick();
  }
}

function add(key: AllotmentKey, amount: number): void {
  const { engine } = region;
  engine.openAny(key.input, 0, key.length);
  engine.add(0, amount);
  engine.close();
}

test('an allotment that comes from another group has what was left there, and no more', () => {
  expect(region.broker.ledger.adopt(policy, allotment(), 40)).toBe(true);
  expect(region.broker.ledger.used(policy, allotment())).toBe(40);
  expect(takeAll()).toBe(60);
});

test('all of it may be used up', () => {
  region.broker.ledger.adopt(policy, allotment(), 120);
  expect(takeAll()).toBe(0);
});

test('a member that did not receive an allotment starts it with nothing: no token is there twice', () => {
  const key = new AllotmentKey();
  add(key.movedOf(allotment()), 1);
  add(key.movedTo(allotment(), new Uint8Array(32).fill(9)), 1);
  expect(region.broker.ledger.rights(policy, allotment())).toBe(0);
  expect(takeAll()).toBe(0);
});

test('unspent tokens of a group that gives an allotment away are not used', () => {
  region.operations.take({ items: [{ name: 'calls', subject, cost: 7 }] }, () => {});
  expect(region.broker.ledger.used(policy, allotment())).toBeGreaterThan(7);
  region.broker.returnLocalBalances((meant) => meant[0] === subject[0]);
  expect(region.broker.ledger.used(policy, allotment())).toBe(7);
});
