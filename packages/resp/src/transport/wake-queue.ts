/** Something that is to be woken at a time of the monotonic clock. */
export interface Sleeper {
  wakeAtMs: number;
  /** Where it lies in the queue; AWAKE when it does not. Kept by the queue. */
  sleepIndex: number;
}

export const AWAKE = -1;

/**
 * Who is to be woken next, as a binary heap: looking costs nothing, and the loop looks every turn, however many wait.
 */
export class WakeQueue<Waiting extends Sleeper> {
  private readonly heap: Waiting[] = [];

  get size(): number {
    return this.heap.length;
  }

  /** When the first is to be woken; Infinity where nobody sleeps. */
  get earliestMs(): number {
    return this.heap.length === 0 ? Number.POSITIVE_INFINITY : this.heap[0].wakeAtMs;
  }

  /** Puts it to sleep, or changes when it wakes. */
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

  /** The next whose time has come, which is awake then. */
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
