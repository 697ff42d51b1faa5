export type BackgroundTimer = ReturnType<typeof setTimeout>;

/** A timer that does not keep a program alive; in browsers and Workers timers are numbers, and never do. */
export function startBackgroundTimer(run: () => void, afterMs: number): BackgroundTimer {
  const timer = setTimeout(run, afterMs);
  if (typeof timer === 'object') timer.unref();
  return timer;
}
