/**
 * What the lanes of a process know of each other without asking: how many connections each has, who gets the next client
 * id, and descriptors on their way from the lane that accepted them to the lane that will serve them.
 *
 *   word                     | what
 *   -------------------------|------------------------------------------------------------
 *   0–1                      | next client id, 64 bits
 *   2–3                      | next slow log id, 64 bits
 *   4 + lane × LANE_WORDS    | + 0 connections served or on their way; + 1 wake descriptor
 *                            | + 2 arrivals put, + 3 arrivals taken; + 4 … arrivals, a ring
 */
const HEADER_WORDS = 4;
const ARRIVALS = 1024;
const LANE_WORDS = 4 + ARRIVALS;
const Offset = { connections: 0, wakeDescriptor: 1, put: 2, taken: 3, arrivals: 4 } as const;

export class SharedControl {
  readonly buffer: SharedArrayBuffer;
  readonly laneCount: number;
  private readonly words: Int32Array;
  private readonly ids: BigInt64Array;

  constructor(laneCount: number, buffer: SharedArrayBuffer) {
    this.buffer = buffer;
    this.laneCount = laneCount;
    this.words = new Int32Array(buffer);
    this.ids = new BigInt64Array(buffer, 0, 2);
  }

  /** As it is before there are lanes. */
  static create(laneCount: number): SharedControl {
    const buffer = new SharedArrayBuffer((HEADER_WORDS + laneCount * LANE_WORDS) * 4);
    const control = new SharedControl(laneCount, buffer);
    for (let lane = 0; lane < laneCount; lane++) control.setWakeDescriptor(lane, -1);
    return control;
  }

  nextClientId(): number {
    return Number(Atomics.add(this.ids, 0, 1n)) + 1;
  }

  nextSlowlogId(): number {
    return Number(Atomics.add(this.ids, 1, 1n));
  }

  /** All connections of the process. */
  connectionCount(): number {
    let count = 0;
    for (let lane = 0; lane < this.laneCount; lane++) count += Atomics.load(this.words, at(lane, Offset.connections));
    return count;
  }

  /** The lane with the fewest connections, counting this one from now on. */
  assign(): number {
    let best = 0;
    let fewest = Number.POSITIVE_INFINITY;
    for (let lane = 0; lane < this.laneCount; lane++) {
      const connections = Atomics.load(this.words, at(lane, Offset.connections));
      if (connections < fewest) {
        best = lane;
        fewest = connections;
      }
    }
    Atomics.add(this.words, at(best, Offset.connections), 1);
    return best;
  }

  release(lane: number): void {
    Atomics.sub(this.words, at(lane, Offset.connections), 1);
  }

  setWakeDescriptor(lane: number, fd: number): void {
    Atomics.store(this.words, at(lane, Offset.wakeDescriptor), fd);
  }

  wakeDescriptor(lane: number): number {
    return Atomics.load(this.words, at(lane, Offset.wakeDescriptor));
  }

  /** Hands a descriptor to another lane; false when that lane has not taken the last thousand yet. One lane puts. */
  put(lane: number, fd: number): boolean {
    const put = Atomics.load(this.words, at(lane, Offset.put));
    // The counters wrap around; their difference does not.
    if (((put - Atomics.load(this.words, at(lane, Offset.taken))) | 0) >= ARRIVALS) return false;
    Atomics.store(this.words, at(lane, Offset.arrivals) + (put & (ARRIVALS - 1)), fd);
    Atomics.store(this.words, at(lane, Offset.put), (put + 1) | 0);
    return true;
  }

  /** The next descriptor handed to this lane, or -1. */
  take(lane: number): number {
    const taken = Atomics.load(this.words, at(lane, Offset.taken));
    if (taken === Atomics.load(this.words, at(lane, Offset.put))) return -1;
    const fd = Atomics.load(this.words, at(lane, Offset.arrivals) + (taken & (ARRIVALS - 1)));
    Atomics.store(this.words, at(lane, Offset.taken), (taken + 1) | 0);
    return fd;
  }
}

function at(lane: number, offset: number): number {
  return HEADER_WORDS + lane * LANE_WORDS + offset;
}
