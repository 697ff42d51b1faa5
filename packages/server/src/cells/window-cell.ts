import type { Engine } from '@quotadb/engine';
import type { Request } from '@quotadb/wire';
import { CELL_HEADER_BYTES, CELL_MARGIN_MS, CellKind, CellNames, MAX_WINDOW_MS } from './cell-key.js';

const TWO_POW_32 = 0x1_0000_0000;

/**
 * The cell of one window, found by its length and the node's time. Clients ask for the same window over and over, so
 * what follows from it (the header of the name, the bounds as 64-bit halves for the reply) is kept until it is another.
 *
 * Windows are counted from 1970: one of 60,000 ms begins with every minute.
 */
export class WindowCell {
  readonly names = new CellNames();
  nameBytes = 0;
  /** The length, start and end of the window chosen last, as 64-bit halves. */
  private lengthHigh = 0;
  private lengthLow = 0;
  startHigh = 0;
  startLow = 0;
  endHigh = 0;
  endLow = 0;
  /** Whether it was chosen by the clock: one that a client named may begin anywhere. */
  private isByClock = false;
  /** Start, end and expiry, where they are no allocation. */
  private readonly times = new Float64Array(3);

  get startMs(): number {
    return this.times[0];
  }

  get endMs(): number {
    return this.times[1];
  }

  get expiresAtMs(): number {
    return this.times[2];
  }

  /** Chooses the window of this length (64-bit halves) that the time of the engine lies in; false where there is none so long. */
  chooseCurrent(engine: Engine, lengthHigh: number, lengthLow: number): boolean {
    const { times } = this;
    const { nowMs } = engine;
    if (
      this.isByClock &&
      lengthLow === this.lengthLow &&
      lengthHigh === this.lengthHigh &&
      nowMs >= times[0] &&
      nowMs < times[1]
    ) {
      return true;
    }
    const lengthMs = lengthHigh * TWO_POW_32 + (lengthLow >>> 0);
    if (lengthMs < 1 || lengthMs > MAX_WINDOW_MS) return false;
    this.choose(lengthMs, Math.floor(nowMs / lengthMs) * lengthMs);
    this.isByClock = true;
    return true;
  }

  /** Chooses a window by its start. */
  choose(lengthMs: number, startMs: number): void {
    const endMs = startMs + lengthMs;
    this.isByClock = false;
    this.times[0] = startMs;
    this.times[1] = endMs;
    this.times[2] = endMs + CELL_MARGIN_MS;
    this.lengthHigh = Math.floor(lengthMs / TWO_POW_32);
    this.lengthLow = lengthMs | 0;
    this.startHigh = Math.floor(startMs / TWO_POW_32);
    this.startLow = startMs | 0;
    this.endHigh = Math.floor(endMs / TWO_POW_32);
    this.endLow = endMs | 0;
    this.names.setHeader(0, CellKind.window, lengthMs, startMs);
  }

  /** Opens the cell of the key that an argument of the request is. The caller closes it. */
  open(engine: Engine, request: Request, index: number): boolean {
    const { names } = this;
    this.nameBytes = names.setKey(
      0,
      CELL_HEADER_BYTES,
      request.input,
      request.argumentStart[index],
      request.argumentLength[index],
    );
    return engine.open(names.input, 0, this.nameBytes);
  }
}
