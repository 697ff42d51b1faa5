/**
 * A fixed interval of time: its start, and how long it is. It holds every instant from `startMs` up to, and not with,
 * its end. Times are whole milliseconds since 1970, before it negative.
 */
export interface Window {
  readonly startMs: number;
  readonly durationMs: number;
}

/** A Window from these, or an error that says what is wrong with them. */
export function windowFrom(startMs: number, durationMs: number): Window {
  if (!Number.isSafeInteger(startMs)) throw new RangeError(`a window starts at a whole millisecond, not at ${startMs}`);
  if (!Number.isSafeInteger(durationMs) || durationMs < 1) {
    throw new RangeError(`a window lasts a whole number of milliseconds, at least 1, not ${durationMs}`);
  }
  if (!Number.isSafeInteger(startMs + durationMs)) {
    throw new RangeError(`a window must end within 2^53 milliseconds of 1970, not at ${startMs + durationMs}`);
  }
  return { startMs, durationMs };
}

export function windowEndMs(window: Window): number {
  return window.startMs + window.durationMs;
}

/**
 * The fixed window of this duration that an instant lies in. Windows follow one another without a gap from
 * `alignedToMs` in both directions; without one, from 1970, so that a window of 60,000 ms begins with every minute of
 * UTC.
 */
export function fixedWindowAt(atMs: number, durationMs: number, alignedToMs = 0): Window {
  if (!Number.isSafeInteger(alignedToMs)) {
    throw new RangeError(`windows are aligned to a whole millisecond, not to ${alignedToMs}`);
  }
  const { startMs } = windowFrom(Math.floor(atMs), durationMs);
  const sinceAlignment = startMs - alignedToMs;
  if (!Number.isSafeInteger(sinceAlignment)) {
    throw new RangeError('an instant must lie within 2^53 milliseconds of what its windows are aligned to');
  }
  // The remainder of a division is exact where the quotient is not; below zero it is negative, and one window too late.
  const into = sinceAlignment % durationMs;
  return windowFrom(startMs - (into < 0 ? into + durationMs : into), durationMs);
}

export function nextWindow({ startMs, durationMs }: Window): Window {
  return windowFrom(startMs + durationMs, durationMs);
}

export function previousWindow({ startMs, durationMs }: Window): Window {
  return windowFrom(startMs - durationMs, durationMs);
}

export function windowContains({ startMs, durationMs }: Window, atMs: number): boolean {
  return atMs >= startMs && atMs < startMs + durationMs;
}

/** How long until the window is over: all of it before its start is more than its duration, and after its end 0. */
export function remainingMs(window: Window, atMs: number): number {
  return Math.max(windowEndMs(window) - atMs, 0);
}
