import type { Libc } from './libc.js';

const CLOCK_THREAD_CPUTIME_ID = 3;

/** How long this thread has been running on a core: what a turn took less what other threads took from it. */
export class ThreadTime {
  private readonly libc: Libc;
  /** struct timespec: seconds, nanoseconds. */
  private readonly time = new BigInt64Array(2);
  private readonly words = new Int32Array(this.time.buffer);

  constructor(libc: Libc) {
    this.libc = libc;
  }

  /** A system call of about half a microsecond. */
  microseconds(): number {
    this.libc.clockGettime(CLOCK_THREAD_CPUTIME_ID, this.time);
    return this.words[0] * 1e6 + this.words[2] / 1000;
  }
}
