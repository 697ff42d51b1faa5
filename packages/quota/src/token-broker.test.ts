import { expect, test } from 'vitest';
import type { DemandOutcome } from './allotment-states.js';
import type { Policy } from './policy.js';
import { Taker } from './taker.js';
import { startLoneRegion } from './testing/lone-region.js';

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
