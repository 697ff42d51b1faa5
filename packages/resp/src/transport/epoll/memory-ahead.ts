import type { Engine } from '@quotadb/engine';
import type { Libc } from './libc.js';

const MADV_POPULATE_WRITE = 23;
const HUGE_PAGE_BYTES = 2 * 1024 * 1024;
/** Keys filled in at full speed take a huge page in about this time. */
const INTERVAL_MS = 20;
/** Touches this many times the growth of the last interval ahead. */
const HASTE = 3;

/**
 * Touches the store's memory before a lane does. On the first touch of a huge page the system finds and clears two
 * megabytes, and on a virtual machine the host does too: milliseconds in which the lane would serve no client. So a
 * thread of the pool does it, one page ahead of the memory in use, and further ahead while that grows fast. Where the
 * system does not support it, lanes touch the memory.
 */
export class MemoryAhead {
  private readonly libc: Libc;
  private readonly engine: Engine;
  private readonly start: number;
  private readonly end: number;
  private readonly timer: NodeJS.Timeout;
  private touchedTo: number;
  private committedBytes: number;
  private growthBytes = 0;
  private isTouching = false;

  constructor(libc: Libc, engine: Engine) {
    this.libc = libc;
    this.engine = engine;
    this.start = libc.addressOf(new Uint8Array(engine.buffer, 0, 1));
    this.end = this.start + engine.buffer.byteLength;
    this.committedBytes = engine.committedBytes;
    this.touchedTo = boundaryBehind(this.start + engine.committedBytes);
    this.timer = setInterval(() => this.look(), INTERVAL_MS);
    this.timer.unref();
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private look(): void {
    const { committedBytes } = this.engine;
    this.growthBytes = committedBytes - this.committedBytes;
    this.committedBytes = committedBytes;
    this.touch();
  }

  private touch(): void {
    if (this.isTouching) return;
    const aheadBytes = HUGE_PAGE_BYTES + Math.max(this.growthBytes, 0) * HASTE;
    const wanted = boundaryBehind(this.start + this.engine.committedBytes + aheadBytes);
    if (this.touchedTo >= wanted || this.touchedTo + HUGE_PAGE_BYTES > this.end) return;
    this.isTouching = true;
    this.libc.madviseAside(this.touchedTo, HUGE_PAGE_BYTES, MADV_POPULATE_WRITE, (result) => {
      this.isTouching = false;
      this.touchedTo += HUGE_PAGE_BYTES;
      if (result === 0) this.touch();
      else this.stop();
    });
  }
}

/** The end of the huge page of this address. */
function boundaryBehind(address: number): number {
  return Math.ceil(address / HUGE_PAGE_BYTES) * HUGE_PAGE_BYTES;
}
