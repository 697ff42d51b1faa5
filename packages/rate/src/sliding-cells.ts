import { addExpiring, type ByteInput, type Engine, joinInt64, Status } from '@quotadb/engine';
import { CELL_MARGIN_MS, CellKind, CellNames, TWO_POW_32, takeFromOwn } from './cell-key.js';
import type { KeyList } from './key-list.js';
import { contestedRoom, faded } from './sliding-window.js';

const CURRENT = 0;
const PREVIOUS = 1;

/**
 * The unpublished counts of all regions together stay below the limit: a region keeps at most its part of this to
 * itself, however high the threshold is set. With a larger share, regions that each are below their threshold could
 * exceed the limit together before any of them has published.
 */
const UNPUBLISHED_PERCENT_OF_ALL = 100;

/** However slow the network is: room that other regions leave is used after this part of the window. */
const MAX_DELAY_PERCENT = 10;

/** The count of a cell: by this node, and by other regions as far as it has arrived. */
export interface CellParts {
  readonly own: bigint;
  readonly foreign: bigint;
}

/**
 * The two cells that a sliding window is read from: the cell of the fixed window that now lies in, and of the one
 * before it. This is all that sliding limits do to the store. A node adds what it admits to its own component and to
 * nothing else, so it never sends counts of other regions on as its own.
 *
 * Where there are other regions, a cell stays unpublished until its count, here or in a region that has published it,
 * has reached the publish threshold, a part of the limit (docs/decisions/0015-cold-limits-stay-at-home.md).
 *
 * This node no longer counts in the cell before: it is read first, and only the current one is locked while a request
 * is decided.
 */
export class SlidingCells {
  private readonly names = new CellNames(2);
  private nameBytes = 0;
  windowMs = 0;
  startMs = -1;
  elapsedMs = 0;
  /** Counts as doubles: exact up to 2^53, and no limit is above that. */
  previous = 0;
  current = 0;
  /** How long counts of other regions are on their way, where they counted in the cell before; else 0. */
  delayMs = 0;
  /** Of these, what this node has counted; read only where there is a delay. */
  previousOwn = 0;
  currentOwn = 0;
  /** What the cell before still counts for. */
  private faded = 0;
  /** Whether the cell before is unpublished, and whether it is to be published with the current one. */
  private isPreviousUnpublished = false;
  private publishesPrevious = false;

  /** Finds the cells of an identifier at the time of the engine, and reads the cell before. */
  locate(engine: Engine, input: ByteInput, start: number, length: number, windowMs: number): void {
    const { names } = this;
    const { nowMs } = engine;
    const isSame = windowMs === this.windowMs && nowMs >= this.startMs && nowMs - this.startMs < windowMs;
    if (!isSame) this.choose(windowMs, Math.floor(nowMs / windowMs) * windowMs);
    this.elapsedMs = nowMs - this.startMs;
    names.setKey(PREVIOUS, input, start, length);
    this.nameBytes = names.setKey(CURRENT, input, start, length);
    this.open(engine, PREVIOUS);
    this.previous = openValue(engine);
    this.readDelay(engine);
    this.isPreviousUnpublished = engine.isUnpublished;
    this.publishesPrevious = false;
    engine.close();
    this.faded = this.previous === 0 ? 0 : faded(this.previous, windowMs, this.elapsedMs);
  }

  private choose(windowMs: number, startMs: number): void {
    this.windowMs = windowMs;
    this.startMs = startMs;
    this.names.setHeader(CURRENT, CellKind.rate, windowMs, startMs);
    this.names.setHeader(PREVIOUS, CellKind.rate, windowMs, startMs - windowMs);
  }

  /** Opens the current cell and reads it. The caller closes it, with `close`. */
  openCurrent(engine: Engine): void {
    this.open(engine, CURRENT);
    this.readCurrent(engine);
  }

  private readCurrent(engine: Engine): void {
    this.current = openValue(engine);
    if (this.delayMs > 0) this.currentOwn = this.current - engine.foreignCount;
  }

  /** The cell before is open. */
  private readDelay(engine: Engine): void {
    const { countDelayMs } = engine;
    const foreign = countDelayMs === 0 ? 0 : engine.foreignCount;
    this.previousOwn = this.previous - foreign;
    this.delayMs = foreign === 0 ? 0 : Math.min(countDelayMs, Math.floor((this.windowMs * MAX_DELAY_PERCENT) / 100));
  }

  /** Adds to the current cell, which is open. An unpublished cell stays so while the count is below the threshold. */
  charge(engine: Engine, cost: number, limit: number, publishPercent: number): Status {
    const high = Math.floor(cost / TWO_POW_32);
    const status =
      engine.isRelaying && this.isBelowThreshold(engine, this.counted + cost, limit, publishPercent)
        ? this.addUnpublished(engine, high, cost | 0)
        : this.addPublished(engine, high, cost | 0);
    if (status === Status.Ok) this.readCurrent(engine);
    return status;
  }

  private isBelowThreshold(engine: Engine, counted: number, limit: number, publishPercent: number): boolean {
    const percent = Math.min(publishPercent, UNPUBLISHED_PERCENT_OF_ALL / engine.regionCount);
    return counted * 100 < limit * percent;
  }

  private addUnpublished(engine: Engine, high: number, low: number): Status {
    if (engine.isUnpublished) return engine.addMoreUnpublished(high, low);
    if (engine.hasNoComponents) return engine.addUnpublished(high, low, this.agesOutAtMs, this.expiresAtMs);
    return this.addPublished(engine, high, low);
  }

  private addPublished(engine: Engine, high: number, low: number): Status {
    this.publishesPrevious = this.isPreviousUnpublished;
    return engine.expiresAtMs === 0 ? addExpiring(engine, high, low, this.expiresAtMs) : engine.add(high, low);
  }

  /** Closes the current cell. Where it was just published, so is the cell before: a decision elsewhere reads both. */
  close(engine: Engine): void {
    engine.close();
    if (!this.publishesPrevious) return;
    this.publishesPrevious = false;
    this.isPreviousUnpublished = false;
    this.open(engine, PREVIOUS);
    engine.publish();
    engine.close();
  }

  /**
   * Uncounts what this node has counted, at most this much, in the current cell first; returns how much that was. Both
   * cells are published by that, as always together.
   */
  refund(engine: Engine, atMost: number): number {
    let refunded = 0;
    for (const which of [CURRENT, PREVIOUS]) {
      this.open(engine, which);
      refunded += takeFromOwn(engine, atMost - refunded);
      if (refunded > 0) engine.publish();
      engine.close();
    }
    return refunded;
  }

  /** Reads both cells, with the counts of this node apart from those of other regions. */
  parts(engine: Engine): { current: CellParts; previous: CellParts } {
    return { current: this.partsOf(engine, CURRENT), previous: this.partsOf(engine, PREVIOUS) };
  }

  /** The names of both cells. */
  addKeys(keys: KeyList): void {
    for (const which of [CURRENT, PREVIOUS]) keys.add(this.names.input, this.names.startOf(which), this.nameBytes);
  }

  isSameCell(other: SlidingCells): boolean {
    const mine = this.names.input.bytes.subarray(0, this.nameBytes);
    return Buffer.compare(mine, other.names.input.bytes.subarray(0, other.nameBytes)) === 0;
  }

  /** Both cells as they count now. */
  get counted(): number {
    return this.current + this.faded;
  }

  /** What this node may admit now; below 0 where more than the limit is counted. */
  roomIn(limit: number): number {
    return this.delayMs === 0 ? limit - this.counted : contestedRoom(this, limit);
  }

  private open(engine: Engine, which: number): void {
    this.names.open(engine, which, this.nameBytes);
  }

  private partsOf(engine: Engine, which: number): CellParts {
    this.open(engine, which);
    const foreign = engine.foreignValue();
    const own = joinInt64(engine.valueHigh, engine.valueLow) - foreign;
    engine.close();
    return { own, foreign };
  }

  /** When the window is over in which the current cell is the one before. From then on it never changes. */
  private get agesOutAtMs(): number {
    return this.startMs + 2 * this.windowMs;
  }

  /** It is kept a little longer, for regions whose clocks are behind. */
  private get expiresAtMs(): number {
    return this.agesOutAtMs + CELL_MARGIN_MS;
  }
}

function openValue(engine: Engine): number {
  return engine.valueHigh * TWO_POW_32 + (engine.valueLow >>> 0);
}
