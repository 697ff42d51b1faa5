import { describe, expect, test } from 'vitest';
import type { DemandOutcome } from '../ledger/allotment-states.js';
import type { Policy } from '../policies/policy.js';
import { startLoneRegion } from '../testing/lone-region.js';
import { Taker, Verdict } from './taker.js';

const NOW_MS = Date.UTC(2026, 5, 1);
const WINDOW_MS = 3_600_000;

/**
 * Found by seed 1011 of the simulator: the state was dropped with tokens on their way, which were lost for the window.
 */
test('tokens on their way to the disk reach the local balance even where it has enough without them', () => {
  let durable = 0;
  const { engine, book, broker } = startLoneRegion({ nowMs: () => NOW_MS, durable: () => durable });
  const definition = { name: 'calls', limit: 100, windowMs: WINDOW_MS, allocator: 'a', shares: [], waitMs: 0 };
  const policy: Policy = book.define(definition, NOW_MS);
  const allotment = { policy: policy.number, window: NOW_MS / WINDOW_MS, subject: Uint8Array.of(1) };
  const outcomes: DemandOutcome[] = [];
  const flush = () => {
    durable = Number.POSITIVE_INFINITY;
    broker.tick();
    durable = 0;
  };
  broker.demand(allotment, 10, 1000, (outcome) => outcomes.push(outcome));
  flush();
  const taker = new Taker(engine);
  const held = broker.ledger.balance(allotment);
  expect(taker.takeSome(allotment, held)).toBe(held);
  broker.demand(allotment, 5, 1000, (outcome) => outcomes.push(outcome));
  // A reservation is given back before the disk holds the mark for the second caller.
  taker.giveBack(allotment, held);
  broker.tick();
  expect(outcomes).toEqual(['ready', 'ready']);
  flush();
  expect(broker.ledger.balance(allotment) + broker.ledger.rights(policy, allotment)).toBe(100);
  expect(broker.hasWork).toBe(false);
});

/** Found by seed 255 of the simulated limits: the limit was dropped, and defined again as a lower one. */
test('of a local balance no more is spent than a limit that was lowered while its state was forgotten', () => {
  const { engine, book, broker } = startLoneRegion({ nowMs: () => NOW_MS });
  const definition = { name: 'calls', limit: 100, windowMs: WINDOW_MS, allocator: 'a', shares: [], waitMs: 0 };
  const { number } = book.define(definition, NOW_MS);
  const allotment = { policy: number, window: NOW_MS / WINDOW_MS, subject: Uint8Array.of(1) };
  broker.demand(allotment, 1, 0, () => {});
  expect(broker.ledger.balance(allotment)).toBeGreaterThan(5);
  // The broker hears nothing of it, as where it has forgotten the allotment.
  const lowered = book.define({ ...definition, limit: 5 }, NOW_MS);
  const taker = new Taker(engine);
  for (let taken = 1; taken <= 5; taken++) {
    expect(taker.takeFrom(lowered, allotment, 1)).toBe(Verdict.allowed);
    expect(taker.remainingHere).toBeGreaterThanOrEqual(5 - taken);
    expect(taker.remainingEverywhere).toBe(5 - taken);
  }
  expect(taker.takeFrom(lowered, allotment, 1)).toBe(Verdict.unknown);
  const outcomes: DemandOutcome[] = [];
  broker.demand(allotment, 1, 0, (outcome) => outcomes.push(outcome));
  expect(outcomes).toEqual(['none']);
  expect(broker.ledger.balance(allotment)).toBe(0);
});

describe('of a quota without a window a crash at any moment wastes at most a 32nd of the tokens, or 32', () => {
  const limit = 10_000;
  let nowMs = NOW_MS;
  let durable = 0;

  function start() {
    const region = startLoneRegion({ nowMs: () => nowMs, durable: () => durable });
    const definition = { name: 'seats', limit, windowMs: 0, allocator: 'a', shares: [], waitMs: 0 };
    const policy: Policy = region.book.define(definition, NOW_MS);
    const allotment = { policy: policy.number, window: 0, subject: Uint8Array.of(1) };
    const flush = () => {
      durable = Number.POSITIVE_INFINITY;
      region.broker.tick();
      durable = 0;
    };
    // The disk knows the marks, and not how much of them was spent.
    const checkWaste = (spent: number) => {
      const marked = limit - region.broker.ledger.rights(policy, allotment);
      expect(marked - spent).toBeLessThanOrEqual(Math.max(32, (limit - spent) / 32));
    };
    return { ...region, policy, allotment, flush, checkWaste };
  }

  test('however fast they are spent', () => {
    const { engine, broker, policy, allotment, flush, checkWaste } = start();
    const taker = new Taker(engine);
    for (let spent = 0; spent < limit; nowMs++) {
      if (taker.takeFrom(policy, allotment, 1) === Verdict.allowed) {
        spent++;
        if (taker.refillTarget > 0) broker.requestRefill(allotment, taker.refillTarget);
      } else broker.demand(allotment, 1, 1000, () => {});
      checkWaste(spent);
      if (nowMs % 5 === 0) flush();
      checkWaste(spent);
    }
  });

  test('also of those that a reservation gives back', () => {
    const { broker, operations, allotment, flush, checkWaste } = start();
    let isAllowed = false;
    operations.take({ items: [{ name: 'seats', subject: allotment.subject, cost: 5000 }] }, (answer) => {
      isAllowed = 'isAllowed' in answer && answer.isAllowed;
    });
    flush();
    expect(isAllowed).toBe(true);
    checkWaste(5000);
    broker.giveBack(allotment, 5000, undefined);
    checkWaste(0);
  });
});
