/** To be woken at a time of the monotonic clock. */
export interface Sleeper {
  wakeAtMs: number;
  /** Its index in the queue; AWAKE when it is in none. Set by the queue. */
  sleepIndex: number;
}

export const AWAKE = -1;

/**
 * A binary heap of sleepers by wake time: reading the earliest, as the loop does in every round, takes constant time.
 */
export class WakeQueue<Waiting extends Sleeper> {
  private readonly heap: Waiting[] = [];

  get size(): number {
    return this.heap.length;
  }

  /** The earliest wake time; Infinity where the queue is empty. */
  get earliestMs(): number {
    return this.heap.length === 0 ? Number.POSITIVE_INFINITY : this.heap[0].wakeAtMs;
  }

  /** Adds a sleeper, or changes its wake time. */
  put(sleeper: Waiting, wakeAtMs: number): void {
    this.remove(sleeper);
    sleeper.wakeAtMs = wakeAtMs;
    this.place(sleeper, this.heap.length);
    this.rise(sleeper);
  }

  remove(sleeper: Waiting): void {
    const { sleepIndex } = sleeper;
    if (sleepIndex === AWAKE) return;
    sleeper.sleepIndex = AWAKE;
    const last = this.heap.pop()!;
    if (last === sleeper) return;
    this.place(last, sleepIndex);
    this.rise(last);
    this.sink(last);
  }

  /** Removes and returns the next sleeper whose time has come. */
  takeDue(nowMs: number): Waiting | undefined {
    if (this.earliestMs > nowMs) return undefined;
    const [first] = this.heap;
    this.remove(first);
    return first;
  }

  private rise(sleeper: Waiting): void {
    while (sleeper.sleepIndex > 0) {
      const parent = this.heap[(sleeper.sleepIndex - 1) >> 1];
      if (parent.wakeAtMs <= sleeper.wakeAtMs) return;
      this.swap(sleeper, parent);
    }
  }

  private sink(sleeper: Waiting): void {
    for (;;) {
      const left = this.heap[sleeper.sleepIndex * 2 + 1];
      const right = this.heap[sleeper.sleepIndex * 2 + 2];
      const sooner = right !== undefined && right.wakeAtMs < left.wakeAtMs ? right : left;
      if (sooner === undefined || sleeper.wakeAtMs <= sooner.wakeAtMs) return;
      this.swap(sleeper, sooner);
    }
  }

  private swap(a: Waiting, b: Waiting): void {
    const index = a.sleepIndex;
    this.place(a, b.sleepIndex);
    this.place(b, index);
  }

  private place(sleeper: Waiting, index: number): void {
    this.heap[index] = sleeper;
    sleeper.sleepIndex = index;
  }
}
