const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'] as const;
const INTERVAL_MS = 100;
const BAR_WIDTH = 30;

/** Shows on standard error for how long the work has been running; at a terminal only, and cleared at its end. */
export async function withProgress<Result>(what: string, work: Promise<Result>): Promise<Result> {
  if (!process.stderr.isTTY) return work;
  const startedAtMs = performance.now();
  let frame = 0;
  const timer = setInterval(() => {
    const seconds = Math.floor((performance.now() - startedAtMs) / 1000);
    process.stderr.write(`\r\x1b[K${FRAMES[frame++ % FRAMES.length]} ${what} ${seconds} s`);
  }, INTERVAL_MS);
  try {
    return await work;
  } finally {
    clearInterval(timer);
    clearProgress();
  }
}

/** Clears the line before other output goes there. */
export function clearProgress(): void {
  if (process.stderr.isTTY) process.stderr.write('\r\x1b[K');
}

/** The same for work whose size is known: a bar, a count, and the time that the rest takes at this pace. */
export class Progress {
  private readonly what: string;
  private readonly total: number;
  private readonly startedAtMs = performance.now();
  private shownAtMs = Number.NEGATIVE_INFINITY;

  constructor(what: string, total: number) {
    this.what = what;
    this.total = total;
  }

  show(done: number): void {
    const nowMs = performance.now();
    if (!process.stderr.isTTY || nowMs - this.shownAtMs < INTERVAL_MS) return;
    this.shownAtMs = nowMs;
    process.stderr.write(`\r\x1b[K${this.what} ${progressBar(done, this.total, nowMs - this.startedAtMs)}`);
  }
}

export function progressBar(done: number, total: number, elapsedMs: number): string {
  const part = total > 0 ? Math.min(done / total, 1) : 1;
  const filled = Math.round(part * BAR_WIDTH);
  const bar = `${'█'.repeat(filled)}${'░'.repeat(BAR_WIDTH - filled)}`;
  const left = part > 0 && part < 1 ? `, ${Math.ceil((elapsedMs * (1 - part)) / part / 1000)} s left` : '';
  return `${bar} ${Math.floor(part * 100)} % (${done.toLocaleString('en')} of ${total.toLocaleString('en')}${left})`;
}
