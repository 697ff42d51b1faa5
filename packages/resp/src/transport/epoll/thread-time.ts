import type { Libc } from './libc.js';

const CLOCK_THREAD_CPUTIME_ID = 3;
/** struct timespec: two 64-bit fields, of which the low words suffice. */
const TIMESPEC_FIELDS = 2;
const LowWord = { seconds: 0, nanoseconds: 2 } as const;

/** The processor time of this thread: the time of a turn without the time that other threads took from it. */
export class ThreadTime {
  private readonly libc: Libc;
  private readonly time = new BigInt64Array(TIMESPEC_FIELDS);
  private readonly words = new Int32Array(this.time.buffer);

  constructor(libc: Libc) {
    this.libc = libc;
  }

  /** A system call of about half a microsecond. */
  microseconds(): number {
    this.libc.clockGettime(CLOCK_THREAD_CPUTIME_ID, this.time);
    return this.words[LowWord.seconds] * 1e6 + this.words[LowWord.nanoseconds] / 1000;
  }
}
