import { addExpiring, type ByteInput, type Engine, Status } from '@quotadb/engine';
import { CELL_MARGIN_MS, CellKind, CellNames, TWO_POW_32, takeFromOwn } from './cell-key.js';
import type { KeyList } from './key-list.js';
import { Charge } from './sliding-limit.js';

/**
 * A limit on a fixed window, and the last decision on it. The count is the one of WINDOW.INCRBY: this node's and those
 * of other regions that have arrived. A denied request counts nothing.
 */
export class FixedLimit {
  private readonly names = new CellNames();
  private nameBytes = 0;
  private startMs = -1;
  private lengthMs = 0;
  private nowMs = 0;
  private count = 0;
  private cost = 0;
  limit = 0;
  /** Whether the cost is within the limit. */
  allowed = false;

  /** Chooses the identifier, the limit and the window that the next decision is about. */
  locate(
    engine: Engine,
    input: ByteInput,
    start: number,
    length: number,
    limit: number,
    startMs: number,
    lengthMs: number,
  ): void {
    if (startMs !== this.startMs || lengthMs !== this.lengthMs) {
      this.startMs = startMs;
      this.lengthMs = lengthMs;
      this.names.setHeader(0, CellKind.window, lengthMs, startMs);
    }
    this.nameBytes = this.names.setKey(0, input, start, length);
    this.nowMs = engine.nowMs;
    this.limit = limit;
  }

  /** Decides, and counts the cost as `charge` says. Where the engine refuses to count, nothing was counted. */
  decide(engine: Engine, cost: number, charge: Charge): Status {
    this.cost = cost;
    this.open(engine);
    this.allowed = cost <= this.limit - this.count;
    const charges = charge === Charge.Always || (this.allowed && charge === Charge.IfAllowed);
    const status = charges && cost > 0 ? this.add(engine, cost) : Status.Ok;
    engine.close();
    return status;
  }

  /** Makes the cell, which is where memory can run out: to add to a cell that exists cannot fail. */
  prepare(engine: Engine): Status {
    this.open(engine);
    const status = engine.exists ? Status.Ok : this.add(engine, 0);
    engine.close();
    return status;
  }

  /** After `decide` counted the cost: takes it out again. */
  undo(engine: Engine, cost: number): void {
    this.open(engine);
    engine.add(Math.floor(-cost / TWO_POW_32), -cost | 0);
    this.readCount(engine);
    engine.close();
  }

  /** Uncounts what this node has counted in the window, at most this much; returns how much that was. */
  refund(engine: Engine, atMost: number): number {
    this.open(engine);
    const refunded = takeFromOwn(engine, atMost);
    engine.close();
    return refunded;
  }

  addKeys(keys: KeyList): void {
    keys.add(this.names.input, 0, this.nameBytes);
  }

  get remaining(): number {
    return Math.max(this.limit - this.count, 0);
  }

  /** Until the window ends. */
  get resetAfterMs(): number {
    return Math.max(this.startMs + this.lengthMs - this.nowMs, 1);
  }

  /** 0 where the request was allowed, −1 where it never will be. */
  get retryAfterMs(): number {
    if (this.allowed) return 0;
    return this.cost > this.limit ? -1 : this.resetAfterMs;
  }

  private open(engine: Engine): void {
    this.names.open(engine, 0, this.nameBytes);
    this.readCount(engine);
  }

  private add(engine: Engine, cost: number): Status {
    const high = Math.floor(cost / TWO_POW_32);
    const status =
      engine.expiresAtMs === 0
        ? addExpiring(engine, high, cost | 0, this.startMs + this.lengthMs + CELL_MARGIN_MS)
        : engine.add(high, cost | 0);
    if (status === Status.Ok) this.readCount(engine);
    return status;
  }

  private readCount(engine: Engine): void {
    this.count = engine.valueHigh * TWO_POW_32 + (engine.valueLow >>> 0);
  }
}
