/**
 * What the lanes of a process know of each other without asking: how many connections each has, who gets the next client
 * id, and descriptors on their way from the lane that accepted them to the lane that will serve them.
 *
 *   word                     | what
 *   -------------------------|------------------------------------------------------------
 *   0–1                      | next client id, 64 bits
 *   2–3                      | next slow log id, 64 bits
 *   4                        | 1 while a lane decides where a connection goes; 5 unused
 *   6 + lane × LANE_WORDS    | + 0 connections served or on their way; + 1 wake descriptor
 *                            | + 2 arrivals put, + 3 arrivals taken; + 4 … arrivals, a ring
 */
const HEADER_WORDS = 6;
const ADMISSION = 4;
/** A decision takes microseconds; whoever has to wait for one looks again this soon even if nobody wakes it. */
const ADMISSION_WAIT_MS = 1;
const ARRIVALS = 1024;
const LANE_WORDS = 4 + ARRIVALS;
const Offset = { connections: 0, wakeDescriptor: 1, put: 2, taken: 3, arrivals: 4 } as const;

export class SharedControl {
  static readonly REFUSED = -1;

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

  /**
   * Finds the lane that serves a new connection: the one with the fewest. Where that is another than `own`, the descriptor
   * is on its way to it. A lane that has not taken the last thousand yet gets no more. REFUSED where `maximum` are served.
   */
  admit(fd: number, own: number, maximum: number): number {
    const { words } = this;
    while (Atomics.compareExchange(words, ADMISSION, 0, 1) !== 0) Atomics.wait(words, ADMISSION, 1, ADMISSION_WAIT_MS);
    const lane = this.connectionCount() < maximum ? this.fewest(own) : SharedControl.REFUSED;
    if (lane !== SharedControl.REFUSED) {
      if (lane !== own) this.put(lane, fd);
      Atomics.add(words, at(lane, Offset.connections), 1);
    }
    Atomics.store(words, ADMISSION, 0);
    Atomics.notify(words, ADMISSION, 1);
    return lane;
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

  /** The next descriptor handed to this lane, or -1. */
  take(lane: number): number {
    const taken = Atomics.load(this.words, at(lane, Offset.taken));
    if (taken === Atomics.load(this.words, at(lane, Offset.put))) return -1;
    const fd = Atomics.load(this.words, at(lane, Offset.arrivals) + (taken & (ARRIVALS - 1)));
    Atomics.store(this.words, at(lane, Offset.taken), (taken + 1) | 0);
    return fd;
  }

  private fewest(own: number): number {
    let best = own;
    let fewest = Atomics.load(this.words, at(own, Offset.connections));
    for (let lane = 0; lane < this.laneCount; lane++) {
      const connections = Atomics.load(this.words, at(lane, Offset.connections));
      if (connections < fewest && !this.isFull(lane)) {
        best = lane;
        fewest = connections;
      }
    }
    return best;
  }

  private isFull(lane: number): boolean {
    const put = Atomics.load(this.words, at(lane, Offset.put));
    // The counters wrap around; their difference does not.
    return ((put - Atomics.load(this.words, at(lane, Offset.taken))) | 0) >= ARRIVALS;
  }

  /** Hands a descriptor to another lane, whose ring has room. One at a time: see admit. */
  private put(lane: number, fd: number): void {
    const put = Atomics.load(this.words, at(lane, Offset.put));
    Atomics.store(this.words, at(lane, Offset.arrivals) + (put & (ARRIVALS - 1)), fd);
    Atomics.store(this.words, at(lane, Offset.put), (put + 1) | 0);
  }
}

function at(lane: number, offset: number): number {
  return HEADER_WORDS + lane * LANE_WORDS + offset;
}
