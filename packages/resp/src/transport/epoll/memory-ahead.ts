import type { Engine } from '@quotadb/engine';
import type { Libc } from './libc.js';

const MADV_HUGEPAGE = 14;
const MADV_POPULATE_WRITE = 23;
const PAGE_BYTES = 4096;
const HUGE_PAGE_BYTES = 2 * 1024 * 1024;
/** Keys filled in at full speed take a huge page in about this time. */
const INTERVAL_MS = 20;
/** Memory that is touched and not in use counts as the process's, so it is little. */
const LEAD_BYTES = HUGE_PAGE_BYTES / 2;
/** Lanes that are nearer than this would touch a huge page at the same time as the pool, and wait as long for it. */
const LEAST_LEAD_BYTES = LEAD_BYTES / 2;
/** Free memory of the allocator is given back when the store has not grown for half a second, then every 10 s. */
const TRIM_AFTER_INTERVALS = 25;
const TRIM_INTERVALS = 500;

/**
 * Makes pages of 2 MiB for the store before lanes need them. Look-ups of keys are spread over all of it, and with small
 * pages nearly every one misses the processor's TLB as well as its cache. But on the first touch of a huge page the
 * system finds and clears two megabytes, and on a virtual machine the host does too: milliseconds in which a lane would
 * serve no client. So a thread of the pool does it, a little ahead of the memory in use, and further ahead while that
 * grows fast. Huge pages are asked for one at a time, just before it: a lane that is faster touches small pages, which
 * take microseconds, and the system may join them later.
 *
 * While the store does not grow, free memory of the process's allocator is given back: above all that in which V8 has
 * compiled.
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
  private quietIntervals = 0;
  private isTouching = false;

  constructor(libc: Libc, engine: Engine) {
    this.libc = libc;
    this.engine = engine;
    this.start = libc.addressOf(new Uint8Array(engine.buffer, 0, 1));
    this.end = this.start + engine.buffer.byteLength;
    this.committedBytes = engine.committedBytes;
    this.touchedTo = boundaryBehind(this.start + engine.committedBytes);
    // A store that was restored has small pages: the system may join them.
    this.adviseHugePages(Math.ceil(this.start / PAGE_BYTES) * PAGE_BYTES, Math.min(this.touchedTo, this.end));
    this.timer = setInterval(() => this.look(), INTERVAL_MS);
    this.timer.unref();
    this.touch();
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private look(): void {
    const { committedBytes } = this.engine;
    this.growthBytes = Math.max(committedBytes - this.committedBytes, 0);
    this.committedBytes = committedBytes;
    this.touch();
    this.quietIntervals = this.growthBytes > 0 ? 0 : this.quietIntervals + 1;
    if (this.quietIntervals % TRIM_INTERVALS === TRIM_AFTER_INTERVALS) this.libc.mallocTrimAside();
  }

  private touch(): void {
    if (this.isTouching) return;
    const used = this.start + this.engine.committedBytes;
    const first = Math.max(this.touchedTo, boundaryBehind(used + LEAST_LEAD_BYTES));
    if (first >= boundaryBehind(used + LEAD_BYTES + this.growthBytes) || first + HUGE_PAGE_BYTES > this.end) return;
    this.adviseHugePages(this.touchedTo, first + HUGE_PAGE_BYTES);
    this.touchedTo = first + HUGE_PAGE_BYTES;
    this.isTouching = true;
    this.libc.madviseAside(first, HUGE_PAGE_BYTES, MADV_POPULATE_WRITE, (result) => {
      this.isTouching = false;
      if (result === 0) this.touch();
      else this.leaveToLanes();
    });
  }

  /** The system cannot touch memory for others. */
  private leaveToLanes(): void {
    this.adviseHugePages(this.touchedTo, this.end);
    this.stop();
  }

  private adviseHugePages(from: number, to: number): void {
    this.libc.madvise(from, to - from, MADV_HUGEPAGE);
  }
}

/** The end of the huge page of this address. */
function boundaryBehind(address: number): number {
  return Math.ceil(address / HUGE_PAGE_BYTES) * HUGE_PAGE_BYTES;
}
