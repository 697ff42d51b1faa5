const SIGNAL_NUMBERS = { SIGINT: 2, SIGTERM: 15 } as const;
/** What shells report for a process that a signal ended. */
const SIGNAL_EXIT_BASE = 128;

/** Resolves at the first SIGTERM or SIGINT. A second one means now: the process ends at once. */
export function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    let asked = false;
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.on(signal, () => {
        if (asked) process.exit(SIGNAL_EXIT_BASE + SIGNAL_NUMBERS[signal]);
        asked = true;
        resolve();
      });
    }
  });
}
