import { type Engine, Status } from '@quotadb/engine';
import type { Request } from '@quotadb/wire';
import { CELL_HEADER_BYTES, CELL_MARGIN_MS, CellKind, CellNames } from '../../cells/cell-key.js';
import { addExpiring } from '../counters/expiring-change.js';
import { faded } from './sliding-window.js';

const TWO_POW_32 = 0x1_0000_0000;
const CURRENT = 0;
const PREVIOUS = 1;

/**
 * The two cells that a sliding window is read from: of the fixed window that now lies in, and of the one before it. All that
 * rate limits do to the store is done here. What other regions counted is in the cells as theirs; what this node admits is added to its own component
 * and to nothing else, so nothing foreign is ever told to others as this node's.
 *
 * Where there are other regions they are told of a cell only once what counts has reached a part of the limit, here or in a region that has
 * spoken of the cell: until then it is withheld (docs/decisions/0022).
 *
 * The cell of the window before is no longer counted in by this node: it is read first, and only the current one is held while
 * a request is decided.
 */
export class SlidingCells {
  private readonly names = new CellNames(2);
  private nameBytes = 0;
  windowMs = 0;
  startMs = -1;
  elapsedMs = 0;
  /** What was counted, as doubles: exact up to 2^53, which no limit is past. */
  previous = 0;
  current = 0;
  /** What the window before still counts for. */
  private faded = 0;
  /** The cell before is known to this node alone, and is to be told of with the current one. */
  private withholdsPrevious = false;
  private tellsPrevious = false;

  /** Finds the cells of a key, an argument of the request, at the time of the engine, and reads the one before. */
  locate(engine: Engine, request: Request, keyIndex: number, windowMs: number): void {
    const { names } = this;
    const { nowMs } = engine;
    const startMs = Math.floor(nowMs / windowMs) * windowMs;
    if (windowMs !== this.windowMs || startMs !== this.startMs) {
      this.windowMs = windowMs;
      this.startMs = startMs;
      names.setHeader(CURRENT, CellKind.rate, windowMs, startMs);
      names.setHeader(PREVIOUS, CellKind.rate, windowMs, startMs - windowMs);
    }
    this.elapsedMs = nowMs - startMs;
    const start = request.argumentStart[keyIndex];
    const length = request.argumentLength[keyIndex];
    names.setKey(PREVIOUS, CELL_HEADER_BYTES, request.input, start, length);
    this.nameBytes = names.setKey(CURRENT, CELL_HEADER_BYTES, request.input, start, length);
    this.openPrevious(engine);
    this.previous = openValue(engine);
    this.withholdsPrevious = engine.isUnpublished;
    this.tellsPrevious = false;
    engine.close();
    this.faded = faded(this.previous, windowMs, this.elapsedMs);
  }

  /** Opens the current cell and reads it. The caller closes it, with `close`. */
  openCurrent(engine: Engine): void {
    engine.open(this.names.input, this.names.startOf(CURRENT), this.nameBytes);
    this.current = openValue(engine);
  }

  openPrevious(engine: Engine): void {
    engine.open(this.names.input, this.names.startOf(PREVIOUS), this.nameBytes);
  }

  /** Adds to the current cell, which is open. With less than that part of the limit counted it is withheld, if it was until now. */
  charge(engine: Engine, cost: number, limit: number, publishPercent: number): Status {
    const high = Math.floor(cost / TWO_POW_32);
    const isCold = (this.counted + cost) * 100 < limit * publishPercent;
    const status =
      isCold && engine.isRelaying ? this.chargeCold(engine, high, cost | 0) : this.tell(engine, high, cost | 0);
    if (status === Status.Ok) this.current = openValue(engine);
    return status;
  }

  private chargeCold(engine: Engine, high: number, low: number): Status {
    if (engine.isUnpublished) return engine.addMoreUnpublished(high, low);
    if (engine.hasNoComponents) return engine.addUnpublished(high, low, this.agesOutAtMs, this.expiresAtMs);
    return this.tell(engine, high, low);
  }

  private tell(engine: Engine, high: number, low: number): Status {
    this.tellsPrevious = this.withholdsPrevious;
    return engine.expiresAtMs === 0 ? addExpiring(engine, high, low, this.expiresAtMs) : engine.add(high, low);
  }

  /** Closes the current cell. Where others have just been told of it, they are told of the one before too. */
  close(engine: Engine): void {
    engine.close();
    if (!this.tellsPrevious) return;
    this.tellsPrevious = false;
    this.withholdsPrevious = false;
    this.openPrevious(engine);
    engine.publish();
    engine.close();
  }

  isSameCell(other: SlidingCells): boolean {
    const mine = this.names.input.bytes.subarray(0, this.nameBytes);
    return Buffer.compare(mine, other.names.input.bytes.subarray(0, other.nameBytes)) === 0;
  }

  /** Current and previous as they count now. */
  get counted(): number {
    return this.current + this.faded;
  }

  /** When the window is over in which the current cell is the one before. From then on nothing about it changes. */
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
