import type { Engine } from '@quotadb/engine';
import type { Libc } from './libc.js';

const MADV_POPULATE_WRITE = 23;
const HUGE_PAGE_BYTES = 2 * 1024 * 1024;
/** Keys filled in at full speed take a huge page in about this time. */
const INTERVAL_MS = 20;
/** How much further ahead than the growth of one interval. */
const HASTE = 3;

/**
 * Touches the store's memory before a lane does. The first touch of a huge page has the system find and clear two
 * megabytes, and on a virtual machine the host as well: milliseconds in which the lane serves nobody. So a thread of the
 * pool does it, one page ahead of what is in use, and more while it grows fast. Where the system does not know how, lanes touch it themselves.
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
    const bytes = new Uint8Array(engine.buffer);
    this.libc = libc;
    this.engine = engine;
    this.start = libc.addressOf(bytes);
    this.end = this.start + bytes.length;
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

/** Where the huge page that this address lies in ends. */
function boundaryBehind(address: number): number {
  return Math.ceil(address / HUGE_PAGE_BYTES) * HUGE_PAGE_BYTES;
}
