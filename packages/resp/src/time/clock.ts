import { performance } from 'node:perf_hooks';

/** The source of time, which tests replace. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Milliseconds, with fractions, from some point; never runs backwards. For durations. */
  monotonic(): number;
}

/**
 * The time of one round of a lane's loop: all commands of a round run at the same time, as in Redis, and the system
 * clock is read once. Durations are measured on the real clock.
 */
export class RoundClock implements Clock {
  private readonly clock: Clock;
  private roundMs: number;

  constructor(clock: Clock) {
    this.clock = clock;
    this.roundMs = clock.now();
  }

  startRound(): void {
    this.roundMs = this.clock.now();
  }

  now(): number {
    return this.roundMs;
  }

  monotonic(): number {
    return this.clock.monotonic();
  }
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
};

/** Milliseconds of a clock that is the same in all threads and is never set back. */
export function systemMonotonicMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}
