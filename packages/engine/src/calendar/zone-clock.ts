const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
/** Zones lie between 12 hours behind UTC and 14 ahead of it. */
const MOST_AHEAD_MS = 14 * HOUR_MS;
const MOST_BEHIND_MS = 12 * HOUR_MS;
const NAME = /^[A-Za-z][A-Za-z0-9_+\-/]{0,63}$/;

/**
 * The wall clock of a time zone, by the rules that the process has (Intl). Wall times are numbers too: the milliseconds
 * of a clock in UTC that shows the same. Offsets are whole minutes, as all have been since 1973.
 */
export class ZoneClock {
  private readonly format: Intl.DateTimeFormat;

  /** Throws a RangeError for a zone that the process has no rules for. */
  constructor(timeZone: string) {
    this.format = new Intl.DateTimeFormat('en-US', {
      timeZone,
      calendar: 'iso8601',
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
    });
  }

  /** How far the wall clock is ahead of UTC at a moment. */
  offsetMs(atMs: number): number {
    const minuteMs = Math.floor(atMs / MINUTE_MS) * MINUTE_MS;
    const parts = new Map(this.format.formatToParts(minuteMs).map(({ type, value }) => [type, Number(value)]));
    const part = (type: Intl.DateTimeFormatPartTypes) => parts.get(type) ?? 0;
    const wallMs = Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'));
    return wallMs - minuteMs;
  }

  wallMs(atMs: number): number {
    return atMs + this.offsetMs(atMs);
  }

  /**
   * The first moment at which the wall clock shows this time or a later one. An hour that is skipped in spring has no
   * time of its own: whatever begins in it begins when the clock is put forward.
   */
  firstAt(wallMs: number): number {
    const earliestMs = wallMs - MOST_AHEAD_MS;
    const latestMs = wallMs + MOST_BEHIND_MS;
    const before = this.offsetMs(earliestMs);
    const after = this.offsetMs(latestMs);
    if (before === after) return wallMs - before;
    const changeMs = this.findChange(earliestMs, latestMs);
    if (wallMs - before < changeMs) return wallMs - before;
    return Math.max(changeMs, wallMs - after);
  }

  /** The moment, between two with different offsets, at which the wall clock is changed: a whole minute. */
  findChange(fromMs: number, toMs: number): number {
    let before = Math.floor(fromMs / MINUTE_MS);
    let after = Math.ceil(toMs / MINUTE_MS);
    const offset = this.offsetMs(fromMs);
    while (after - before > 1) {
      const middle = Math.floor((before + after) / 2);
      if (this.offsetMs(middle * MINUTE_MS) === offset) before = middle;
      else after = middle;
    }
    return after * MINUTE_MS;
  }
}

const clocks = new Map<string, ZoneClock>();
/** More zones than there are: names in other letters are others. */
const MAXIMUM_CLOCKS = 1000;

/** Throws a RangeError for a zone that the process has no rules for. */
export function zoneClock(timeZone: string): ZoneClock {
  let clock = clocks.get(timeZone);
  if (clock === undefined) {
    clock = new ZoneClock(timeZone);
    if (clocks.size < MAXIMUM_CLOCKS) clocks.set(timeZone, clock);
  }
  return clock;
}

/** Whether it is the name of a time zone that the process has rules for. */
export function isTimeZone(value: unknown): value is string {
  if (typeof value !== 'string' || !NAME.test(value)) return false;
  try {
    zoneClock(value);
    return true;
  } catch {
    return false;
  }
}
