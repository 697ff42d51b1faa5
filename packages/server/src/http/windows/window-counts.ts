import { ByteInput, type Engine, joinInt64, Status, splitInt64 } from '@quotadb/engine';
import { WindowCell } from '@quotadb/rate';
import type { ServerState } from '@quotadb/resp';
import { requireSafe } from '../require-safe.js';
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
    this.choose(window);
    this.cell.read(this.engine, ByteInput.copyOf(key), 0, key.length);
    return this.count();
  }

  /** Counts, and resolves when the count is as durable as this server promises. */
  async increment(key: Uint8Array, window: ChosenWindow, amount: bigint): Promise<WindowCount> {
    const { engine, cell, server } = this;
    if (server.disk.refusesWrites) throw new WindowProblem('disk_failed');
    this.choose(window);
    if (cell.isOver(engine)) throw new WindowProblem('window_over');
    const status = cell.increment(engine, ByteInput.copyOf(key), 0, key.length, ...splitInt64(amount));
    if (status !== Status.Ok) throw refusalOf(status);
    const count = this.count();
    await requireSafe(server, engine);
    return count;
  }

  private choose({ windowMs, startMs }: ChosenWindow): void {
    const { engine, cell } = this;
    engine.advanceTo(this.server.clock.now());
    if (startMs === undefined) cell.chooseCurrent(engine, ...splitInt64(BigInt(windowMs)));
    else cell.choose(windowMs, startMs);
  }

  private count(): WindowCount {
    const { countHigh, countLow, startMs, endMs } = this.cell;
    return { count: joinInt64(countHigh, countLow), startMs, endMs };
  }
}
