import type { WindowCounterStore } from './store.js';
import { fixedWindowAt, remainingMs, type Window, windowEndMs } from './window.js';

/** What is known about a window after counting in it or reading it; what to make of that is the caller's business. */
export interface WindowFacts {
  readonly count: bigint;
  readonly startMs: number;
  readonly endMs: number;
  /** Until the end of the window, by this counter's clock. */
  readonly remainingMs: number;
  /** Whether the count has come to the threshold; undefined where there is none. */
  readonly thresholdReached: boolean | undefined;
}

export interface TimeWindowCounterOptions {
  readonly store: WindowCounterStore;
  readonly durationMs: number;
  /** Windows begin at this time and multiples of the duration from it; 1970 if left out. */
  readonly alignedToMs?: number;
  readonly threshold?: number | bigint;
  /** What time it is; Date.now if left out. */
  readonly now?: () => number;
}

/**
 * Counts occurrences in the fixed window that now is in, and tells the facts. It decides nothing, tries nothing twice
 * and corrects nothing: the count is the store's, and so is the error when the store fails.
 */
export class TimeWindowCounter {
  readonly #options: TimeWindowCounterOptions;
  readonly #now: () => number;
  readonly #threshold: bigint | undefined;

  constructor(options: TimeWindowCounterOptions) {
    fixedWindowAt(0, options.durationMs, options.alignedToMs);
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.#threshold = options.threshold === undefined ? undefined : BigInt(options.threshold);
  }

  async increment(key: string, amount: number | bigint = 1): Promise<WindowFacts> {
    const atMs = this.#now();
    const window = this.#windowAt(atMs);
    return this.#facts(window, atMs, await this.#options.store.increment(key, window, amount));
  }

  async read(key: string): Promise<WindowFacts> {
    const atMs = this.#now();
    const window = this.#windowAt(atMs);
    return this.#facts(window, atMs, await this.#options.store.read(key, window));
  }

  #windowAt(atMs: number): Window {
    return fixedWindowAt(atMs, this.#options.durationMs, this.#options.alignedToMs);
  }

  #facts(window: Window, atMs: number, count: bigint): WindowFacts {
    const threshold = this.#threshold;
    return {
      count,
      startMs: window.startMs,
      endMs: windowEndMs(window),
      remainingMs: remainingMs(window, atMs),
      thresholdReached: threshold === undefined ? undefined : count >= threshold,
    };
  }
}
