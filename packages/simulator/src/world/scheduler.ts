interface Event {
  readonly atMs: number;
  readonly order: number;
  readonly run: () => void;
}

/**
 * Simulated time: a queue of events, run in the order of their times without waiting. Storage is made of promises, so
 * after an event that has settled one, all of its continuations run before the next event: that order is the same every
 * time.
 */
export class Scheduler {
  nowMs: number;
  private readonly heap: Event[] = [];
  private order = 0;
  private hasSettled = false;

  constructor(nowMs: number) {
    this.nowMs = nowMs;
  }

  after(delayMs: number, run: () => void): void {
    this.push({ atMs: this.nowMs + Math.max(0, delayMs), order: this.order++, run });
  }

  /** A promise was settled: its continuations run before the next event. */
  settled(): void {
    this.hasSettled = true;
  }

  /** Runs until this time, or until `isOver` is true. */
  async runUntil(untilMs: number, isOver: () => boolean): Promise<void> {
    if (this.hasSettled) await this.drain();
    while (this.heap.length > 0 && this.heap[0].atMs <= untilMs && !isOver()) {
      const event = this.pop();
      this.nowMs = event.atMs;
      event.run();
      if (this.hasSettled) await this.drain();
    }
    this.nowMs = Math.max(this.nowMs, untilMs);
  }

  /** The queue of microtasks is empty when the event loop comes round. */
  private async drain(): Promise<void> {
    this.hasSettled = false;
    await new Promise((resolve) => setImmediate(resolve));
  }

  private push(event: Event): void {
    const { heap } = this;
    let at = heap.push(event) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(event, heap[parent])) break;
      heap[at] = heap[parent];
      at = parent;
    }
    heap[at] = event;
  }

  private pop(): Event {
    const { heap } = this;
    const first = heap[0];
    const last = heap.pop() as Event;
    if (heap.length === 0) return first;
    let at = 0;
    for (let child = 1; child < heap.length; child = at * 2 + 1) {
      if (child + 1 < heap.length && isBefore(heap[child + 1], heap[child])) child++;
      if (!isBefore(heap[child], last)) break;
      heap[at] = heap[child];
      at = child;
    }
    heap[at] = last;
    return first;
  }
}

function isBefore(one: Event, other: Event): boolean {
  return one.atMs < other.atMs || (one.atMs === other.atMs && one.order < other.order);
}
