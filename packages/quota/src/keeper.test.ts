import { expect, test } from 'vitest';
import type { DemandOutcome } from './keeper.js';
import type { Policy } from './policy.js';
import { Taker } from './taker.js';
import { startLoneRegion } from './testing/lone-region.js';

const NOW_MS = Date.UTC(2026, 5, 1);
const WINDOW_MS = 3_600_000;

/** Found by seed 1011 of the simulator: the cell was let go with tokens on their way, and they were lost for the window. */
test('tokens on their way to the disk get into the pocket also where there was enough without them', () => {
  let durable = 0;
  const { engine, book, keeper } = startLoneRegion({ nowMs: () => NOW_MS, durable: () => durable });
  const definition = { name: 'calls', limit: 100, windowMs: WINDOW_MS, allocator: 'a', shares: [], waitMs: 0 };
  const policy: Policy = book.define(definition, NOW_MS);
  const cell = { policy: policy.number, window: NOW_MS / WINDOW_MS, subject: Uint8Array.of(1) };
  const outcomes: DemandOutcome[] = [];
  const flush = () => {
    durable = Number.POSITIVE_INFINITY;
    keeper.tick();
    durable = 0;
  };
  keeper.demand(cell, 10, 1000, (outcome) => outcomes.push(outcome));
  flush();
  const taker = new Taker(engine);
  const held = keeper.ledger.balance(cell);
  expect(taker.takeSome(cell, held)).toBe(held);
  keeper.demand(cell, 5, 1000, (outcome) => outcomes.push(outcome));
  // A reservation is given back before the disk holds what was marked for the second caller.
  taker.giveBack(cell, held);
  keeper.tick();
  expect(outcomes).toEqual(['ready', 'ready']);
  flush();
  expect(keeper.ledger.balance(cell) + keeper.ledger.rights(policy, cell)).toBe(100);
  expect(keeper.hasWork).toBe(false);
});
