import { isTimeZone, type ZoneClock, zoneClock } from './zone-clock.js';

/**
 * Windows that begin as the calendar of a time zone does.
 *
 *   unit  | a window begins
 *   ------|---------------------------------------------------------------------------------------------
 *   hour  | when the wall clock shows a full hour, and when it is changed: none is longer than 60 minutes
 *   day   | at the first moment of a day: days of a change have 23 or 25 hours
 *   week  | at the first moment of the anchor's weekday: 1 = Monday … 7 = Sunday
 *   month | at the first moment of the anchor's day, or of the last day of a month that is shorter
 */
export interface Calendar {
  readonly unit: CalendarUnit;
  /** As in the tz database: Europe/Berlin, UTC. */
  readonly timeZone: string;
  /** Of a month 1 to 31, of a week 1 to 7; else 1. */
  readonly anchorDay: number;
}

export const CALENDAR_UNITS = ['hour', 'day', 'week', 'month'] as const;
export type CalendarUnit = (typeof CALENDAR_UNITS)[number];

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const LENGTH_FACTOR = 2 ** 20;

/** What a window of a unit lasts when no clock is changed; of a month, the longest. */
export const CALENDAR_UNIT_MS: Readonly<Record<CalendarUnit, number>> = {
  hour: HOUR_MS,
  day: DAY_MS,
  week: 7 * DAY_MS,
  month: 31 * DAY_MS,
};

/** The last anchor day of a unit. */
const ANCHORS: Readonly<Record<CalendarUnit, number>> = { hour: 1, day: 1, week: 7, month: 31 };

interface Span {
  readonly startMs: number;
  readonly endMs: number;
}

interface KnownWindow extends Span {
  readonly window: number;
}

/** By calendar: the window that was last asked for. Most requests are in the window of the one before. */
const known = new WeakMap<Calendar, KnownWindow>();

/**
 * The window that a moment lies in, as a number that says all about it: start × 2^20 + length, in minutes. Its start
 * and end are read from it without the rules of the time zone, and windows by different rules have different numbers.
 */
export function calendarWindowAt(calendar: Calendar, nowMs: number): number {
  const last = known.get(calendar);
  if (last !== undefined && nowMs >= last.startMs && nowMs < last.endMs) return last.window;
  const span = spanAt(calendar, nowMs);
  const window = numberOf(span);
  known.set(calendar, { ...span, window });
  return window;
}

export function calendarWindowStartMs(window: number): number {
  return Math.floor(window / LENGTH_FACTOR) * MINUTE_MS;
}

export function calendarWindowEndMs(window: number): number {
  return calendarWindowStartMs(window) + (window - Math.floor(window / LENGTH_FACTOR) * LENGTH_FACTOR) * MINUTE_MS;
}

/** Whether the rules of this process make this window: a peer with other rules, or none, may name any number. */
export function isCalendarWindow(calendar: Calendar, window: number): boolean {
  if (!Number.isSafeInteger(window) || window < 0) return false;
  const startMs = calendarWindowStartMs(window);
  const last = known.get(calendar);
  if (last !== undefined && startMs >= last.startMs && startMs < last.endMs) return last.window === window;
  // Later than this a date has no year; and the window that is known stays the one of now.
  return startMs < Number.MAX_SAFE_INTEGER / 2 ** 11 && numberOf(spanAt(calendar, startMs)) === window;
}

/** Why a value from a client, a peer or a file is no calendar; undefined where it is one. */
export function findCalendarFault(given: unknown): string | undefined {
  const { unit, timeZone, anchorDay } = (given ?? {}) as Calendar;
  if (!CALENDAR_UNITS.includes(unit)) return `a calendar window is one of ${CALENDAR_UNITS.join(', ')}, not '${unit}'`;
  if (!isTimeZone(timeZone)) return `'${timeZone}' is no time zone: Europe/Berlin or UTC is one`;
  const most = ANCHORS[unit];
  if (Number.isSafeInteger(anchorDay) && anchorDay >= 1 && anchorDay <= most) return undefined;
  if (most === 1) return `windows of a ${unit} have no anchor day`;
  return `the anchor day of a ${unit} is a whole number from 1 to ${most}, not ${anchorDay}`;
}

export function isSameCalendar(one: Calendar | undefined, other: Calendar | undefined): boolean {
  return one?.unit === other?.unit && one?.timeZone === other?.timeZone && one?.anchorDay === other?.anchorDay;
}

function numberOf({ startMs, endMs }: Span): number {
  return (startMs / MINUTE_MS) * LENGTH_FACTOR + (endMs - startMs) / MINUTE_MS;
}

function spanAt(calendar: Calendar, nowMs: number): Span {
  const clock = zoneClock(calendar.timeZone);
  return calendar.unit === 'hour' ? hourAt(clock, nowMs) : daysAt(clock, calendar, nowMs);
}

function hourAt(clock: ZoneClock, nowMs: number): Span {
  const wallMs = clock.wallMs(nowMs);
  const sinceMs = wallMs - Math.floor(wallMs / HOUR_MS) * HOUR_MS;
  const offset = wallMs - nowMs;
  let startMs = nowMs - sinceMs;
  let endMs = startMs + HOUR_MS;
  if (clock.offsetMs(startMs) !== offset) startMs = clock.findChange(startMs, nowMs);
  if (clock.offsetMs(endMs - 1) !== offset) endMs = clock.findChange(nowMs, endMs);
  return { startMs, endMs };
}

/**
 * A wall clock that is put back over midnight shows the end of a day twice. The second time belongs to the day that had
 * begun: windows follow each other, and none is entered again.
 */
function daysAt(clock: ZoneClock, calendar: Calendar, nowMs: number): Span {
  let first = firstDay(calendar, Math.floor(clock.wallMs(nowMs) / DAY_MS));
  let startMs = clock.firstAt(first * DAY_MS);
  for (;;) {
    first = nextFirstDay(calendar, first);
    const endMs = clock.firstAt(first * DAY_MS);
    if (nowMs < endMs) return { startMs, endMs };
    startMs = endMs;
  }
}

/** The day, since the epoch, with which the window of a day begins. */
function firstDay({ unit, anchorDay }: Calendar, day: number): number {
  if (unit === 'day') return day;
  if (unit === 'week') return day - ((weekdayOf(day) - anchorDay + 7) % 7);
  const date = new Date(day * DAY_MS);
  const own = monthDay(date.getUTCFullYear(), date.getUTCMonth(), anchorDay);
  return own <= day ? own : monthDay(date.getUTCFullYear(), date.getUTCMonth() - 1, anchorDay);
}

function nextFirstDay({ unit, anchorDay }: Calendar, first: number): number {
  if (unit === 'day') return first + 1;
  if (unit === 'week') return first + 7;
  const date = new Date(first * DAY_MS);
  return monthDay(date.getUTCFullYear(), date.getUTCMonth() + 1, anchorDay);
}

/** 1 = Monday … 7 = Sunday; the epoch was a Thursday. */
function weekdayOf(day: number): number {
  return ((((day + 3) % 7) + 7) % 7) + 1;
}

/** The anchor's day of a month, or its last day. */
function monthDay(year: number, month: number, anchorDay: number): number {
  const last = new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
  return Date.UTC(year, month, Math.min(anchorDay, last)) / DAY_MS;
}
