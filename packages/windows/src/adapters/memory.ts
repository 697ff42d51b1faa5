import { checkAmount, checkKey, checkWindow, INT64_MAX } from '../window/arguments.js';
import type { WindowCounterStore, WindowExpiry } from '../window/store.js';
import { remainingMs, type Window, windowEndMs } from '../window/window.js';

export interface MemoryWindowStoreOptions {
  /** The clock; Date.now if left out. */
  readonly now?: () => number;
}

interface Cells {
  readonly endMs: number;
  readonly counts: Map<string, bigint>;
}

/** Counts in this process alone. Windows that are over are dropped whole, when the next one begins to count. */
export class MemoryWindowStore implements WindowCounterStore {
  readonly #windows = new Map<string, Cells>();
  readonly #now: () => number;
  /** No window ends before this time. */
  #firstEndMs = Number.POSITIVE_INFINITY;

  constructor(options: MemoryWindowStoreOptions = {}) {
    this.#now = options.now ?? Date.now;
  }

  /** Counts that are held, those of ended windows that are not dropped yet included. */
  get size(): number {
    let size = 0;
    for (const { counts } of this.#windows.values()) size += counts.size;
    return size;
  }

  async increment(key: string, window: Window, amount: number | bigint = 1): Promise<bigint> {
    checkKey(key);
    checkWindow(window);
    const exact = checkAmount(amount);
    const nowMs = this.#now();
    this.#dropEnded(nowMs);
    const count = (this.#cells(window)?.counts.get(key) ?? 0n) + exact;
    if (count > INT64_MAX) throw new RangeError('the count would leave 64 bits');
    // A count in a window that is over is not kept.
    if (windowEndMs(window) > nowMs) this.#makeCells(window).counts.set(key, count);
    return count;
  }

  async read(key: string, window: Window): Promise<bigint> {
    checkKey(key);
    checkWindow(window);
    return windowEndMs(window) > this.#now() ? (this.#cells(window)?.counts.get(key) ?? 0n) : 0n;
  }

  async expiry(key: string, window: Window): Promise<WindowExpiry | undefined> {
    checkKey(key);
    const nowMs = this.#now();
    const left = remainingMs(checkWindow(window), nowMs);
    if (left === 0 || this.#cells(window)?.counts.has(key) !== true) return undefined;
    return { endMs: windowEndMs(window), remainingMs: left };
  }

  #cells(window: Window): Cells | undefined {
    return this.#windows.get(nameOf(window));
  }

  #makeCells(window: Window): Cells {
    const name = nameOf(window);
    let cells = this.#windows.get(name);
    if (cells === undefined) {
      cells = { endMs: windowEndMs(window), counts: new Map() };
      this.#windows.set(name, cells);
      this.#firstEndMs = Math.min(this.#firstEndMs, cells.endMs);
    }
    return cells;
  }

  #dropEnded(nowMs: number): void {
    if (nowMs < this.#firstEndMs) return;
    this.#firstEndMs = Number.POSITIVE_INFINITY;
    for (const [name, { endMs }] of this.#windows) {
      if (endMs <= nowMs) this.#windows.delete(name);
      else this.#firstEndMs = Math.min(this.#firstEndMs, endMs);
    }
  }
}

function nameOf({ startMs, durationMs }: Window): string {
  return `${durationMs}:${startMs}`;
}
