import { OWN_ORIGIN, splitInt64 } from '@quotadb/engine';
import { beforeEach, expect, test } from 'vitest';
import { AllotmentKey } from '../allotments/allotment.js';
import { type Policy, windowAt } from '../policies/policy.js';
import { type LoneRegion, startLoneRegion } from '../testing/lone-region.js';

const subject = Uint8Array.of(1);
let nowMs: number;
let region: LoneRegion;

beforeEach(() => {
  nowMs = Date.UTC(2026, 5, 1);
  region = startLoneRegion({ nowMs: () => nowMs });
});

function define(limit: number, windowMs = 3_600_000): Policy {
  const definition = { name: 'calls', limit, windowMs, allocator: 'a', shares: [], waitMs: 0 };
  const policy = region.book.define(definition, nowMs, () => ({ incarnation: 'a1', hasDisk: true }));
  region.broker.policiesChanged();
  return policy;
}

const allotmentOf = (policy: Policy) => ({ policy: policy.number, window: windowAt(policy, nowMs), subject });

function takeAll(cost = 1): number {
  for (let taken = 0; ; taken += cost) {
    let isAllowed = false;
    region.operations.take({ items: [{ name: 'calls', subject, cost }] }, (answer) => {
      isAllowed = 'isAllowed' in answer && answer.isAllowed;
    });
    if (!isAllowed) return taken;
    region.broker.tick();
  }
}

test('a limit that is lowered holds for tokens in the local balance too', () => {
  define(100);
  region.operations.take({ items: [{ name: 'calls', subject, cost: 1 }] }, () => {});
  const policy = define(5);
  expect(region.broker.ledger.balance(allotmentOf(policy))).toBe(4);
  expect(takeAll()).toBe(4);
});

test('a lower limit holds too where it comes before the news of what other regions have spent', () => {
  define(100);
  region.operations.take({ items: [{ name: 'calls', subject, cost: 1 }] }, () => {});
  const policy = define(60);
  expect(region.broker.ledger.balance(allotmentOf(policy))).toBeGreaterThan(0);
  const { engine } = region;
  const { input, length } = new AllotmentKey().marksOf(allotmentOf(policy));
  engine.openAny(input, 0, length);
  engine.add(...splitInt64(90n));
  engine.close();
  nowMs += 1000;
  region.broker.tick();
  expect(takeAll()).toBe(0);
});

test('a region that grants what it does not have makes no other exceed the limit', () => {
  const policy = define(10);
  const { engine } = region;
  // A grant that no rights stand behind.
  const { input, length } = new AllotmentKey().grantsTo(allotmentOf(policy), engine.origins.idOf(OWN_ORIGIN));
  engine.openAny(input, 0, length);
  engine.add(...splitInt64(1_000_000n));
  engine.close();
  expect(region.broker.ledger.rights(policy, allotmentOf(policy))).toBe(10);
  expect(takeAll()).toBe(10);
});

test('of a quota without a window a crash wastes about what is used in a moment, and nothing when it is idle', () => {
  region = startLoneRegion({ nowMs: () => nowMs, durable: (shard) => region.engine.seen(shard, OWN_ORIGIN) });
  const policy = define(10_000, 0);
  const { ledger } = region.broker;
  const take = () => {
    region.operations.take({ items: [{ name: 'calls', subject, cost: 1 }] }, () => {});
    region.broker.tick();
  };
  for (let call = 0; call < 100; call++) {
    nowMs += 1000;
    take();
    expect(ledger.balance(allotmentOf(policy))).toBeLessThanOrEqual(2 * 16);
  }
  for (let tick = 0; tick < 20; tick++) {
    nowMs += 1000;
    region.broker.tick();
  }
  expect(ledger.balance(allotmentOf(policy))).toBe(0);
  expect(ledger.rights(policy, allotmentOf(policy))).toBe(9900);
  // Under load portions grow.
  for (let call = 0; call < 2000; call++) take();
  expect(ledger.balance(allotmentOf(policy))).toBeGreaterThan(100);
});
