import { fdatasyncSync, ftruncateSync, writeSync } from 'node:fs';
import type { Engine } from '@quotadb/engine';
import { LogPieces } from './log-pieces.js';
import { LogState } from './log-state.js';

/**
 * Zeros are written ahead of the log in steps of this. A sync of overwritten bytes changes no size and allocates
 * nothing, so the file system has no journal to write: it takes half as long. A step costs a few milliseconds.
 */
const ALLOCATION_BYTES = 1024 * 1024;
const ZEROS = new Uint8Array(ALLOCATION_BYTES);

/** A lane syncs on its own thread only while syncs are shorter than this: the lane's other clients wait for them. */
const QUICK_SYNC_MS = 5;

/** A lane that writes without a sync has the log for some ten microseconds, and others wait; the main thread longer. */
const WRITE_ATTEMPTS = 3;
const WRITE_WAIT_MS = 1;

export type LaneFlush = 'flushed' | 'failed' | 'busy';

/**
 * The log as a lane writes to it: all changes so far, on the lane's own thread. With --fsync always it syncs too, which
 * spares four messages between threads for each flush: they take longer than the sync does. Otherwise it only writes,
 * before the changes are acknowledged, and the main thread syncs.
 */
export class LaneLog {
  private readonly state: LogState;
  private readonly pieces: LogPieces;
  private readonly engine: Engine;

  constructor(engine: Engine, buffer: SharedArrayBuffer) {
    this.engine = engine;
    this.state = new LogState(engine.shardCount, buffer);
    this.pieces = new LogPieces(engine, this.state);
  }

  /** Where false, the main thread has to flush. */
  get isUsable(): boolean {
    return this.state.descriptor !== -1 && this.state.lastSyncMs < QUICK_SYNC_MS;
  }

  /** `settled` is called before another thread can write. */
  tryFlush(settled: (isDurable: boolean) => void): LaneFlush {
    return this.attempt(this.flush, settled);
  }

  /**
   * Writes without a sync. False where the main thread has the log, so that it must be tried again. True also where the
   * disk fails: the main thread begins a segment with all that was missed as soon as it can.
   */
  tryWrite(): boolean {
    const { state } = this;
    for (let attempt = 0; attempt < WRITE_ATTEMPTS; attempt++) {
      if (state.descriptor === -1) return true;
      if (this.attempt(this.write, ignore) !== 'busy') return true;
      // The thread that has the log may wait for the store.
      this.engine.rest();
      state.awaitRelease(WRITE_WAIT_MS);
    }
    return false;
  }

  private attempt(work: (fd: number) => void, settled: (isDone: boolean) => void): LaneFlush {
    const { state } = this;
    if (!state.tryTake()) return 'busy';
    let isDone = false;
    try {
      if (state.descriptor !== -1) {
        work(state.descriptor);
        isDone = true;
      }
    } catch (error) {
      state.descriptor = -1;
      state.failure = Math.abs((error as NodeJS.ErrnoException).errno ?? UNKNOWN_ERRNO);
      // The main thread cannot know which drops were taken out of the store here: the disk needs a new snapshot.
      if (this.pieces.dropped.length > 0) this.engine.dropped.markLost();
      this.pieces.dropped = [];
    } finally {
      settled(isDone);
      state.give();
    }
    return isDone ? 'flushed' : 'failed';
  }

  private readonly flush = (fd: number): void => {
    const { engine, state, pieces } = this;
    const startedAtMs = performance.now();
    for (const piece of pieces.collect()) {
      engine.rest();
      if (state.written + piece.length > state.allocated) this.allocate(fd, state.written + piece.length);
      writeAll(fd, piece, state.written);
      state.noteWrite(piece.length);
    }
    const writtenAtMs = performance.now();
    if (state.written > state.synced) {
      fdatasyncSync(fd);
      state.noteSync(state.written, performance.now() - writtenAtMs);
    }
    pieces.settle();
    state.settle(state.cut(engine.origins.count));
    state.noteFlush(performance.now() - startedAtMs);
  };

  private readonly write = (fd: number): void => {
    const { engine, state, pieces } = this;
    for (const piece of pieces.collect()) {
      engine.rest();
      writeAll(fd, piece, state.written);
      state.noteWrite(piece.length);
    }
    pieces.settle();
  };

  /** Where the disk has no room for zeros it may still have some for records. */
  private allocate(fd: number, upTo: number): void {
    const { state } = this;
    try {
      for (; state.allocated < upTo; state.allocated += ZEROS.length) writeAll(fd, ZEROS, state.allocated);
    } catch {
      ftruncateSync(fd, state.written);
      state.allocated = Number.POSITIVE_INFINITY;
    }
  }
}

function writeAll(fd: number, bytes: Uint8Array, position: number): void {
  for (let done = 0; done < bytes.length; ) {
    done += writeSync(fd, bytes, done, bytes.length - done, position + done);
  }
}

function ignore(): void {}

/** EIO: an error without a number must not be taken for a success. */
const UNKNOWN_ERRNO = 5;
