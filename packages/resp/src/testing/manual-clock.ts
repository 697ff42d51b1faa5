import type { Clock } from '../time/clock.js';

/** A clock that a test advances. */
export class ManualClock implements Clock {
  nowMs: number;

  constructor(nowMs = 1_700_000_000_000) {
    this.nowMs = nowMs;
  }

  now(): number {
    return this.nowMs;
  }

  monotonic(): number {
    return this.nowMs;
  }

  advance(milliseconds: number): void {
    this.nowMs += milliseconds;
  }
}
