import { addExpiring, type ByteInput, type Engine, type Status } from '@quotadb/engine';
import { CELL_MARGIN_MS, CellKind, CellNames, MAX_WINDOW_MS, TWO_POW_32 } from './cell-key.js';

/** Where the times of the chosen window are kept. */
const START = 0;
const END = 1;
const EXPIRY = 2;

/**
 * The cell of one fixed window, found by its length and the engine's time. Clients ask for the same window over and
 * over, so what follows from it (the header of the name, the bounds as 64-bit halves for the reply) is kept until
 * another window is chosen.
 *
 * Windows are counted from 1970: one of 60,000 ms begins with every minute.
 */
export class WindowCell {
  private readonly names = new CellNames();
  /** The start and end of the chosen window, as 64-bit halves. */
  startHigh = 0;
  startLow = 0;
  endHigh = 0;
  endLow = 0;
  /** The count that was read last. */
  countHigh = 0;
  countLow = 0;
  /** Whether it was chosen by the clock: one that a client named may begin anywhere. */
  private isByClock = false;
  /** Typed, because writing them must not allocate. */
  private readonly times = new Float64Array(3);

  get startMs(): number {
    return this.times[START];
  }

  get endMs(): number {
    return this.times[END];
  }

  /**
   * Chooses the window of this length (64-bit halves) that the engine's time lies in; false where the length is out of
   * range.
   */
  chooseCurrent(engine: Engine, lengthHigh: number, lengthLow: number): boolean {
    const { times } = this;
    const { nowMs } = engine;
    const lengthMs = lengthHigh * TWO_POW_32 + (lengthLow >>> 0);
    const isSameLength = this.isByClock && times[END] - times[START] === lengthMs;
    if (isSameLength && nowMs >= times[START] && nowMs < times[END]) return true;
    if (lengthMs < 1 || lengthMs > MAX_WINDOW_MS) return false;
    this.choose(lengthMs, Math.floor(nowMs / lengthMs) * lengthMs);
    this.isByClock = true;
    return true;
  }

  /** Chooses a window by its start. */
  choose(lengthMs: number, startMs: number): void {
    const endMs = startMs + lengthMs;
    this.isByClock = false;
    this.times[START] = startMs;
    this.times[END] = endMs;
    this.times[EXPIRY] = endMs + CELL_MARGIN_MS;
    this.startHigh = Math.floor(startMs / TWO_POW_32);
    this.startLow = startMs | 0;
    this.endHigh = Math.floor(endMs / TWO_POW_32);
    this.endLow = endMs | 0;
    this.names.setHeader(0, CellKind.window, lengthMs, startMs);
  }

  /** Whether the chosen window has been over for so long that its cell has expired: it can no longer be counted in. */
  isOver(engine: Engine): boolean {
    return this.times[EXPIRY] <= engine.nowMs;
  }

  /** Reads the count of an identifier in the chosen window. */
  read(engine: Engine, input: ByteInput, start: number, length: number): void {
    this.open(engine, input, start, length);
    this.close(engine);
  }

  /** Adds to the count of an identifier in the chosen window, which is not over, and reads it. */
  increment(
    engine: Engine,
    input: ByteInput,
    start: number,
    length: number,
    amountHigh: number,
    amountLow: number,
  ): Status {
    this.open(engine, input, start, length);
    const status =
      engine.expiresAtMs === 0
        ? addExpiring(engine, amountHigh, amountLow, this.times[EXPIRY])
        : engine.add(amountHigh, amountLow);
    this.close(engine);
    return status;
  }

  private open(engine: Engine, input: ByteInput, start: number, length: number): void {
    this.names.open(engine, 0, this.names.setKey(0, input, start, length));
  }

  private close(engine: Engine): void {
    this.countHigh = engine.valueHigh;
    this.countLow = engine.valueLow;
    engine.close();
  }
}
