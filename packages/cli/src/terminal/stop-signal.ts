const SIGNAL_NUMBERS = { SIGINT: 2, SIGTERM: 15 } as const;
/** Shells report 128 + N for a process that signal N ended. */
const SIGNAL_EXIT_BASE = 128;

/** Resolves at the first SIGTERM or SIGINT. A second one ends the process at once. */
export function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    let isStopping = false;
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.on(signal, () => {
        if (isStopping) process.exit(SIGNAL_EXIT_BASE + SIGNAL_NUMBERS[signal]);
        isStopping = true;
        resolve();
      });
    }
  });
}
