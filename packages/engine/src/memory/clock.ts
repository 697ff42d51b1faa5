import { HeaderNumber } from './layout.js';
import { versionAt } from './record.js';
import type { Store } from './store.js';

/**
 * The node's time as the engine knows it: given from outside, once per loop turn, and never running backwards, whatever
 * the machine's clock does. All threads of a node share the latest time any of them was given.
 */
export class Clock {
  nowMs = 0;
  /** The least version that a change made now can have. */
  nowVersion = 0;
  private readonly numbers: Float64Array;

  constructor(store: Store) {
    this.numbers = store.numbers;
    this.advanceTo(0);
  }

  /** Before the store is used: its time begins here, whatever it was. */
  beginAt(nowMs: number): void {
    this.nowMs = 0;
    this.numbers[HeaderNumber.clock] = 0;
    this.advanceTo(nowMs);
  }

  advanceTo(nowMs: number): void {
    // Threads read and write the shared time without a lock: the one with the earlier time may write last. Own time
    // stays.
    const shared = this.numbers[HeaderNumber.clock];
    const latest = shared > this.nowMs ? shared : this.nowMs;
    const time = nowMs > latest ? Math.floor(nowMs) : latest;
    if (time > shared) this.numbers[HeaderNumber.clock] = time;
    if (time === this.nowMs) return;
    this.nowMs = time;
    this.nowVersion = versionAt(time);
  }
}
