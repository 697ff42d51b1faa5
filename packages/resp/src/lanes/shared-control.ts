import { checkSize } from '../services/shared-memory.js';

/**
 * Memory that all lanes of a process share: the number of connections of each lane, the next ids, and descriptors on
 * their way from the lane that accepted them to the lane that will serve them.
 *
 *   bytes                   | field          | content
 *   ------------------------|----------------|---------------------------------------------------------------
 *   0–15                    | Id             | two 64-bit counters: ids of clients, ids of the slow log
 *   16–23                   | Header         | admission: 1 while a lane decides where a connection goes; 1 unused
 *   24 + lane × LANE_BYTES  | connections    | connections that the lane serves or that are on their way to it
 *                           | wakeDescriptor | an eventfd; -1 = none
 *                           | put, taken     | descriptors put into the ring and taken from it; both wrap around
 *                           | arrivals       | the ring: ARRIVALS descriptors
 */
const Id = { client: 0, slowlog: 1 } as const;
const IDS = 2;
const Header = { admission: 0 } as const;
const HEADER_WORDS = 2;
const LaneWord = { connections: 0, wakeDescriptor: 1, put: 2, taken: 3, arrivals: 4 } as const;
/** A power of two. */
const ARRIVALS = 1024;
const LANE_WORDS = LaneWord.arrivals + ARRIVALS;

const HEADER_BYTE = IDS * BigInt64Array.BYTES_PER_ELEMENT;
const LANES_BYTE = HEADER_BYTE + HEADER_WORDS * Int32Array.BYTES_PER_ELEMENT;
const LANE_BYTES = LANE_WORDS * Int32Array.BYTES_PER_ELEMENT;

/** An admission takes microseconds; a waiting lane looks again this soon even without a notification. */
const ADMISSION_WAIT_MS = 1;

export class SharedControl {
  static readonly REFUSED = -1;

  readonly buffer: SharedArrayBuffer;
  readonly laneCount: number;
  private readonly ids: BigInt64Array;
  private readonly header: Int32Array;
  private readonly lanes: Int32Array;

  constructor(laneCount: number, buffer: SharedArrayBuffer) {
    checkSize('the shared memory of the lanes', buffer, LANES_BYTE + laneCount * LANE_BYTES);
    this.buffer = buffer;
    this.laneCount = laneCount;
    this.ids = new BigInt64Array(buffer, 0, IDS);
    this.header = new Int32Array(buffer, HEADER_BYTE, HEADER_WORDS);
    this.lanes = new Int32Array(buffer, LANES_BYTE);
  }

  static create(laneCount: number): SharedControl {
    const control = new SharedControl(laneCount, new SharedArrayBuffer(LANES_BYTE + laneCount * LANE_BYTES));
    for (let lane = 0; lane < laneCount; lane++) control.setWakeDescriptor(lane, -1);
    return control;
  }

  nextClientId(): number {
    return Number(Atomics.add(this.ids, Id.client, 1n)) + 1;
  }

  nextSlowlogId(): number {
    return Number(Atomics.add(this.ids, Id.slowlog, 1n));
  }

  /** All connections of the process. */
  connectionCount(): number {
    let count = 0;
    for (let lane = 0; lane < this.laneCount; lane++) count += this.connectionsOf(lane);
    return count;
  }

  /**
   * Chooses the lane that serves a new connection: the one with the fewest connections whose ring has room. Where that
   * is another than `own`, puts the descriptor into its ring. REFUSED where the process has `maximum` connections.
   */
  admit(fd: number, own: number, maximum: number): number {
    const { header } = this;
    while (Atomics.compareExchange(header, Header.admission, 0, 1) !== 0)
      Atomics.wait(header, Header.admission, 1, ADMISSION_WAIT_MS);
    const lane = this.connectionCount() < maximum ? this.fewest(own) : SharedControl.REFUSED;
    if (lane !== SharedControl.REFUSED) {
      if (lane !== own) this.put(lane, fd);
      Atomics.add(this.lanes, at(lane, LaneWord.connections), 1);
    }
    Atomics.store(header, Header.admission, 0);
    Atomics.notify(header, Header.admission, 1);
    return lane;
  }

  release(lane: number): void {
    Atomics.sub(this.lanes, at(lane, LaneWord.connections), 1);
  }

  setWakeDescriptor(lane: number, fd: number): void {
    Atomics.store(this.lanes, at(lane, LaneWord.wakeDescriptor), fd);
  }

  wakeDescriptor(lane: number): number {
    return Atomics.load(this.lanes, at(lane, LaneWord.wakeDescriptor));
  }

  /** The next descriptor in the ring of this lane, or -1. */
  take(lane: number): number {
    const taken = Atomics.load(this.lanes, at(lane, LaneWord.taken));
    if (taken === Atomics.load(this.lanes, at(lane, LaneWord.put))) return -1;
    const fd = Atomics.load(this.lanes, at(lane, LaneWord.arrivals) + (taken & (ARRIVALS - 1)));
    Atomics.store(this.lanes, at(lane, LaneWord.taken), (taken + 1) | 0);
    return fd;
  }

  private connectionsOf(lane: number): number {
    return Atomics.load(this.lanes, at(lane, LaneWord.connections));
  }

  private fewest(own: number): number {
    let best = own;
    let fewest = this.connectionsOf(own);
    for (let lane = 0; lane < this.laneCount; lane++) {
      const connections = this.connectionsOf(lane);
      if (connections < fewest && !this.isFull(lane)) {
        best = lane;
        fewest = connections;
      }
    }
    return best;
  }

  private isFull(lane: number): boolean {
    const put = Atomics.load(this.lanes, at(lane, LaneWord.put));
    // The counters wrap around; their difference does not.
    return ((put - Atomics.load(this.lanes, at(lane, LaneWord.taken))) | 0) >= ARRIVALS;
  }

  /** Puts a descriptor into the ring of another lane, which has room. One at a time: see admit. */
  private put(lane: number, fd: number): void {
    const put = Atomics.load(this.lanes, at(lane, LaneWord.put));
    Atomics.store(this.lanes, at(lane, LaneWord.arrivals) + (put & (ARRIVALS - 1)), fd);
    Atomics.store(this.lanes, at(lane, LaneWord.put), (put + 1) | 0);
  }
}

/** The index of a lane's word. */
function at(lane: number, word: number): number {
  return lane * LANE_WORDS + word;
}
