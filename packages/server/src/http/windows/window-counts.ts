import { ByteInput, type Engine, joinInt64, Status, splitInt64 } from '@quotadb/engine';
import { CELL_HEADER_BYTES } from '../../cells/cell-key.js';
import { WindowCell } from '../../cells/window-cell.js';
import { addExpiring } from '../../commands/counters/expiring-change.js';
import type { ServerState } from '../../server-state.js';
import { waitForDisk } from '../wait-for-disk.js';
import { refusalOf, WindowProblem } from './problems.js';

export interface WindowCount {
  readonly count: bigint;
  readonly startMs: number;
  readonly endMs: number;
}

/** Which window: the one that begins at a time, or the one that the node is in. */
export interface ChosenWindow {
  readonly windowMs: number;
  readonly startMs?: number | undefined;
}

/** The cells of WINDOW.INCRBY and WINDOW.GET for callers on the main thread, on the store that all threads share. */
export class WindowCounts {
  private readonly engine: Engine;
  private readonly server: ServerState;
  private readonly cell = new WindowCell();

  constructor(engine: Engine, server: ServerState) {
    this.engine = engine;
    this.server = server;
  }

  read(key: Uint8Array, window: ChosenWindow): WindowCount {
    this.open(key, window);
    const count = this.value();
    this.engine.close();
    return this.facts(count);
  }

  /** Counts, and is done when the count is as durable as this server promises. */
  async increment(key: Uint8Array, window: ChosenWindow, amount: bigint): Promise<WindowCount> {
    const { engine, cell, server } = this;
    if (server.disk.refusesWrites) throw new WindowProblem('disk_failed');
    this.open(key, window);
    if (cell.expiresAtMs <= engine.nowMs) {
      engine.close();
      throw new WindowProblem('window_over');
    }
    const [high, low] = splitInt64(amount);
    const status = engine.expiresAtMs === 0 ? addExpiring(engine, high, low, cell.expiresAtMs) : engine.add(high, low);
    const count = this.value();
    engine.close();
    if (status !== Status.Ok) throw refusalOf(status);
    const facts = this.facts(count);
    await waitForDisk(server);
    return facts;
  }

  private open(key: Uint8Array, { windowMs, startMs }: ChosenWindow): void {
    const { engine, cell } = this;
    engine.advanceTo(this.server.clock.now());
    cell.choose(windowMs, startMs ?? Math.floor(engine.nowMs / windowMs) * windowMs);
    const length = cell.names.setKey(0, CELL_HEADER_BYTES, ByteInput.copyOf(key), 0, key.length);
    engine.open(cell.names.input, 0, length);
  }

  private value(): bigint {
    return joinInt64(this.engine.valueHigh, this.engine.valueLow);
  }

  private facts(count: bigint): WindowCount {
    return { count, startMs: this.cell.startMs, endMs: this.cell.endMs };
  }
}
