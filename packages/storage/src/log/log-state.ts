import { DURATION_BUCKETS, durationBucket, MAX_ORIGINS } from '@quotadb/engine';

/**
 * Memory shared by the threads that write to one log. The thread that holds its lock may write to the segment in use,
 * and updates the watermarks and the figures for the next one.
 *
 *   word      | what
 *   ----------|--------------------------------------------------------------------------------------------------
 *   0         | 1 while a thread writes
 *   1         | 1 while the main thread wants to be next: lanes do not take the lock then
 *   2         | file descriptor + 1 of the segment that lanes may write to, 0 = none
 *   3         | the errno (positive) with which a lane failed: that segment is not written to again
 *   doubles   | NUMBERS, then flushes and syncs by duration bucket, then for each origin which one it is (its order in
 *             | the store), then for each origin and shard the version up to which all changes are durable, then the
 *             | same for written ones
 *
 * Written: the system has the bytes, so they outlive the process. Durable: they were synced as well, so they outlive a
 * power failure; with --fsync never, written is all there is. Durable never passes written.
 */
const Word = { lock: 0, wanted: 1, descriptor: 2, failure: 3 } as const;
const WORDS = 4;

const Figure = {
  /**
   * Bytes of the segment: written, in whole records that the written watermarks cover, known to be on disk, and filled
   * with zeros ahead.
   */
  written: 0,
  whole: 1,
  synced: 2,
  allocated: 3,
  /** Of all segments since the last snapshot, as far as they are whole. */
  bytes: 4,
  writtenBytesTotal: 5,
  syncsTotal: 6,
  flushesTotal: 7,
  lastFlushMs: 8,
  lastSyncMs: 9,
  flushMsTotal: 10,
  syncMsTotal: 11,
  /** Bytes of the segment that the durable watermarks cover. */
  durable: 12,
} as const;
const NUMBERS = 13;
const FLUSHES_AT = WORDS * 4 + NUMBERS * 8;
const SYNCS_AT = FLUSHES_AT + DURATION_BUCKETS * 8;
const ORDERS_AT = SYNCS_AT + DURATION_BUCKETS * 8;
const DURABLE_AT = ORDERS_AT + MAX_ORIGINS * 8;

/** The state of a segment at one moment between two writes: what a sync that begins then makes durable. */
export interface WrittenCut {
  readonly bytes: number;
  /** Which origins the slots were. */
  readonly orders: Float64Array;
  readonly watermarks: Float64Array;
}

/** Durations of flushes and syncs of all threads. */
export interface LogDurations {
  /** By duration bucket. */
  readonly flushes: Float64Array;
  readonly flushMsTotal: number;
  readonly syncs: Float64Array;
  readonly syncMsTotal: number;
}

export interface LogTotals {
  readonly logBytes: number;
  readonly writtenBytesTotal: number;
  readonly syncsTotal: number;
  readonly flushesTotal: number;
  readonly lastFlushMs: number;
}

export class LogState {
  readonly buffer: SharedArrayBuffer;
  readonly shardCount: number;
  private readonly words: Int32Array;
  private readonly numbers: Float64Array;
  private readonly flushes: Float64Array;
  private readonly syncs: Float64Array;
  private readonly orders: Float64Array;
  private readonly durableVersions: Float64Array;
  private readonly writtenVersions: Float64Array;

  constructor(shardCount: number, buffer?: SharedArrayBuffer) {
    // Reserved for the maximum of origins; the system provides memory only for the part that is used.
    const count = MAX_ORIGINS * shardCount;
    this.buffer = buffer ?? new SharedArrayBuffer(DURABLE_AT + 2 * count * 8);
    this.shardCount = shardCount;
    this.words = new Int32Array(this.buffer, 0, WORDS);
    this.numbers = new Float64Array(this.buffer, WORDS * 4, NUMBERS);
    this.flushes = new Float64Array(this.buffer, FLUSHES_AT, DURATION_BUCKETS);
    this.syncs = new Float64Array(this.buffer, SYNCS_AT, DURATION_BUCKETS);
    this.orders = new Float64Array(this.buffer, ORDERS_AT, MAX_ORIGINS);
    this.durableVersions = new Float64Array(this.buffer, DURABLE_AT, count);
    this.writtenVersions = new Float64Array(this.buffer, DURABLE_AT + count * 8, count);
  }

  /** A lane's attempt: it never waits, and fails while the main thread wants the lock. */
  tryTake(): boolean {
    return Atomics.load(this.words, Word.wanted) === 0 && this.tryTakeAsOwner();
  }

  tryTakeAsOwner(): boolean {
    return Atomics.compareExchange(this.words, Word.lock, 0, 1) === 0;
  }

  give(): void {
    Atomics.store(this.words, Word.lock, 0);
    Atomics.notify(this.words, Word.lock);
  }

  /** Sleeps until the thread that writes gives the lock back, at most this long; not on the main thread. */
  awaitRelease(milliseconds: number): void {
    Atomics.wait(this.words, Word.lock, 1, milliseconds);
  }

  setWanted(isWanted: boolean): void {
    Atomics.store(this.words, Word.wanted, isWanted ? 1 : 0);
  }

  /** Of the segment that lanes may write to, or -1. */
  get descriptor(): number {
    return Atomics.load(this.words, Word.descriptor) - 1;
  }

  set descriptor(fd: number) {
    Atomics.store(this.words, Word.descriptor, fd + 1);
  }

  get failure(): number {
    return Atomics.load(this.words, Word.failure);
  }

  set failure(errno: number) {
    Atomics.store(this.words, Word.failure, errno);
  }

  /** The version of the origin with this order in a shard up to which all changes are durable. */
  durableVersion(origin: number, order: number, shard: number): number {
    return this.orders[origin] === order ? this.durableVersions[origin * this.shardCount + shard] : 0;
  }

  /** 0 where the slot was another origin's when it was written last. */
  writtenVersion(origin: number, order: number, shard: number): number {
    return this.orders[origin] === order ? this.writtenVersions[origin * this.shardCount + shard] : 0;
  }

  setWrittenVersion(origin: number, order: number, shard: number, version: number): void {
    const first = origin * this.shardCount;
    if (this.orders[origin] !== order) {
      this.durableVersions.fill(0, first, first + this.shardCount);
      this.writtenVersions.fill(0, first, first + this.shardCount);
      this.orders[origin] = order;
    }
    this.writtenVersions[first + shard] = version;
  }

  /** Between two writes: all that is written now, of this many origins. */
  cut(origins: number): WrittenCut {
    return {
      bytes: this.whole,
      orders: this.orders.slice(0, origins),
      watermarks: this.writtenVersions.slice(0, origins * this.shardCount),
    };
  }

  /** All that was written at this cut is durable. A slot that became another origin's since has nothing of the cut. */
  settle({ bytes, orders, watermarks }: WrittenCut): void {
    for (let origin = 0; origin < orders.length; origin++) {
      if (this.orders[origin] !== orders[origin]) continue;
      const first = origin * this.shardCount;
      this.durableVersions.set(watermarks.subarray(first, first + this.shardCount), first);
    }
    this.numbers[Figure.durable] = bytes;
  }

  /** The segment is given up: all that is not durable counts as not written, and goes into the next one. */
  fallBack(): void {
    this.writtenVersions.set(this.durableVersions);
    this.bytes -= this.whole - this.durable;
    this.written = this.whole;
  }

  get written(): number {
    return this.numbers[Figure.written];
  }

  set written(bytes: number) {
    this.numbers[Figure.written] = bytes;
  }

  get whole(): number {
    return this.numbers[Figure.whole];
  }

  set whole(bytes: number) {
    this.numbers[Figure.whole] = bytes;
  }

  get durable(): number {
    return this.numbers[Figure.durable];
  }

  get synced(): number {
    return this.numbers[Figure.synced];
  }

  set synced(bytes: number) {
    this.numbers[Figure.synced] = bytes;
  }

  get allocated(): number {
    return this.numbers[Figure.allocated];
  }

  set allocated(bytes: number) {
    this.numbers[Figure.allocated] = bytes;
  }

  get bytes(): number {
    return this.numbers[Figure.bytes];
  }

  set bytes(bytes: number) {
    this.numbers[Figure.bytes] = bytes;
  }

  get lastSyncMs(): number {
    return this.numbers[Figure.lastSyncMs];
  }

  totals(): LogTotals {
    const { numbers } = this;
    return {
      logBytes: this.bytes,
      writtenBytesTotal: numbers[Figure.writtenBytesTotal],
      syncsTotal: numbers[Figure.syncsTotal],
      flushesTotal: numbers[Figure.flushesTotal],
      lastFlushMs: numbers[Figure.lastFlushMs],
    };
  }

  /** A copy. It may be taken in the middle of a write: one figure may be behind another. */
  durations(): LogDurations {
    return {
      flushes: Float64Array.from(this.flushes),
      flushMsTotal: this.numbers[Figure.flushMsTotal],
      syncs: Float64Array.from(this.syncs),
      syncMsTotal: this.numbers[Figure.syncMsTotal],
    };
  }

  /** A new segment, of which this many bytes are on disk; lanes may write to it with this descriptor, if not -1. */
  beginSegment(bytes: number, descriptor: number): void {
    this.failure = 0;
    this.written = bytes;
    this.whole = bytes;
    this.synced = bytes;
    this.allocated = bytes;
    this.numbers[Figure.durable] = bytes;
    this.bytes += bytes;
    this.descriptor = descriptor;
  }

  noteWrite(bytes: number): void {
    this.written += bytes;
    this.numbers[Figure.writtenBytesTotal] += bytes;
  }

  /** A sync made the first `bytes` of the segment durable. */
  noteSync(bytes: number, milliseconds: number): void {
    this.synced = bytes;
    this.numbers[Figure.syncsTotal]++;
    this.numbers[Figure.lastSyncMs] = milliseconds;
    this.numbers[Figure.syncMsTotal] += milliseconds;
    this.syncs[durationBucket(milliseconds * 1000)]++;
  }

  /** All written bytes are covered by the written watermarks now. */
  noteWhole(): void {
    this.bytes += this.written - this.whole;
    this.whole = this.written;
  }

  noteFlush(milliseconds: number): void {
    this.numbers[Figure.flushesTotal]++;
    this.numbers[Figure.lastFlushMs] = milliseconds;
    this.numbers[Figure.flushMsTotal] += milliseconds;
    this.flushes[durationBucket(milliseconds * 1000)]++;
  }
}
