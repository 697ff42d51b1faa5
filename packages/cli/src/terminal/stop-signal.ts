const SIGNAL_NUMBERS = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 } as const;
/** Shells report 128 + N for a process that signal N ended. */
const SIGNAL_EXIT_BASE = 128;

/** Resolves at the first of these signals. A second one ends the process at once. */
export function stopSignal(signals: readonly (keyof typeof SIGNAL_NUMBERS)[] = ['SIGINT', 'SIGTERM']): Promise<void> {
  return new Promise((resolve) => {
    let isStopping = false;
    for (const signal of signals) {
      process.on(signal, () => {
        if (isStopping) process.exit(SIGNAL_EXIT_BASE + SIGNAL_NUMBERS[signal]);
        isStopping = true;
        resolve();
      });
    }
  });
}
