import { type ByteInput, type Engine, Status } from '@quotadb/engine';
import type { KeyList } from './key-list.js';
import { SlidingCells } from './sliding-cells.js';
import { retryAfterMs } from './sliding-window.js';

/** The most limits that are decided at once: each keeps room for the names of its cells. */
export const MAX_LIMITS = 16;

/** When a decision counts its cost: RATE.PEEK, RATE.LIMIT, and RATE.ADD, which reports what was admitted elsewhere. */
export const Charge = { Never: 0, IfAllowed: 1, Always: 2 } as const;
export type Charge = (typeof Charge)[keyof typeof Charge];

/**
 * A limit on a sliding window, and the last decision on it. It is located first, then decided, from the counts that
 * this node holds now. A denied request counts nothing.
 */
export class SlidingLimit {
  readonly cells = new SlidingCells();
  limit = 0;
  /** Whether the cost is within the limit. */
  allowed = false;
  private cost = 0;

  /** Chooses the identifier, the limit and the window that the next decision is about. */
  locate(engine: Engine, input: ByteInput, start: number, length: number, limit: number, windowMs: number): void {
    this.cells.locate(engine, input, start, length, windowMs);
    this.limit = limit;
  }

  /** Decides, and counts the cost as `charge` says. Where the engine refuses to count, nothing was counted. */
  decide(engine: Engine, cost: number, publishPercent: number, charge: Charge): Status {
    const { cells, limit } = this;
    cells.openCurrent(engine);
    this.compare(cost);
    const charges = charge === Charge.Always || (this.allowed && charge === Charge.IfAllowed);
    const status = charges && cost > 0 ? cells.charge(engine, cost, limit, publishPercent) : Status.Ok;
    cells.close(engine);
    return status;
  }

  /** Makes the cell, which is where memory can run out: to add to a cell that exists cannot fail. */
  prepare(engine: Engine, publishPercent: number): Status {
    const { cells } = this;
    cells.openCurrent(engine);
    const status = cells.charge(engine, 0, this.limit, publishPercent);
    cells.close(engine);
    return status;
  }

  /** See SlidingCells.refund; from the next `locate` on decisions know of it. */
  refund(engine: Engine, atMost: number): number {
    return this.cells.refund(engine, atMost);
  }

  addKeys(keys: KeyList): void {
    this.cells.addKeys(keys);
  }

  /** Whether the cost is within the limit, from what was read last. */
  compare(cost: number): void {
    this.cost = cost;
    this.allowed = cost <= this.cells.roomIn(this.limit);
  }

  /** What this region may still admit now. */
  get remaining(): number {
    return Math.max(this.cells.roomIn(this.limit), 0);
  }

  /** Until the current window ends. */
  get resetAfterMs(): number {
    return this.cells.windowMs - this.cells.elapsedMs;
  }

  /** 0 where the request was allowed, −1 where it never will be. */
  get retryAfterMs(): number {
    const { current, previous, windowMs, elapsedMs, delayMs } = this.cells;
    return this.allowed ? 0 : retryAfterMs(current, previous, windowMs, elapsedMs - delayMs, this.limit, this.cost);
  }
}

/**
 * Decides several limits at once: counts the cost against all of them or, where one denies it, against none. Where the
 * engine refuses to count, nothing was counted.
 */
export function decideAll(
  engine: Engine,
  limits: readonly SlidingLimit[],
  cost: number,
  publishPercent: number,
): Status {
  // Deciding and counting are one step: no other thread counts in between.
  engine.lockAll();
  try {
    for (const limit of limits) {
      limit.cells.openCurrent(engine);
      engine.close();
      limit.compare(cost);
    }
    if (cost === 0 || limits.some(({ allowed }) => !allowed)) return Status.Ok;
    return chargeAll(engine, limits, cost, publishPercent);
  } finally {
    engine.unlock();
  }
}

/**
 * First makes every cell, which is where memory can run out, and a cell made so far is empty; then adds the cost to
 * cells that exist, which cannot fail. A cell that is named twice is counted in once.
 */
function chargeAll(engine: Engine, limits: readonly SlidingLimit[], cost: number, publishPercent: number): Status {
  for (const amount of [0, cost]) {
    for (const [index, { cells, limit }] of limits.entries()) {
      const isRepeated = limits.slice(0, index).some((earlier) => earlier.cells.isSameCell(cells));
      cells.openCurrent(engine);
      const status = isRepeated ? Status.Ok : cells.charge(engine, amount, limit, publishPercent);
      cells.close(engine);
      if (status !== Status.Ok) return status;
    }
  }
  return Status.Ok;
}
