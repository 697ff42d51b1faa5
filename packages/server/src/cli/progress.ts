const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'] as const;
const INTERVAL_MS = 100;

/** Shows on standard error that something long goes on, and for how long; at a terminal only, and gone when it is over. */
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
    process.stderr.write('\r\x1b[K');
  }
}
