import { CALENDAR_UNITS, type Calendar, type CalendarUnit, findCalendarFault } from '@quotadb/engine';
import { calendarWindowMs, MAXIMUM_WINDOW_MS } from '@quotadb/quota';
import { MAX_WINDOW_MS } from '@quotadb/rate';
import { DURATION_EXAMPLES, parseDuration } from '@quotadb/wire';
import { quote } from '@quotadb/wire/documents';
import type { LimitEntry } from './schema.js';

/** The window of a limit. */
export interface LimitWindow {
  /** 0: the limit holds for ever. */
  readonly windowMs: number;
  readonly calendar?: Calendar | undefined;
}

/** A mistake in a field. */
export interface Fault {
  readonly field: string;
  readonly message: string;
}

const WORDS_OF_WINDOWS = `or ${CALENDAR_UNITS.join(', ')}, or none`;
const WORDS = `${DURATION_EXAMPLES}; ${CALENDAR_UNITS.join(', ')}; or none`;

/** The window as it is written, or the mistake in it. */
export function windowOf(entry: LimitEntry): LimitWindow | Fault {
  const { window, timeZone, anchorDay, kind } = entry;
  if (window === undefined) return { field: 'window', message: `a limit of kind ${kind} has a window: ${WORDS}` };
  if (CALENDAR_UNITS.includes(window as CalendarUnit)) return calendarOf(entry, window as CalendarUnit);
  if (timeZone !== undefined || anchorDay !== undefined) {
    const field = timeZone === undefined ? 'anchorDay' : 'timeZone';
    return { field, message: `only windows of the calendar (${CALENDAR_UNITS.join(', ')}) have one` };
  }
  if (window === 'none') {
    return kind === 'exact'
      ? { windowMs: 0 }
      : { field: 'window', message: 'only a limit of kind exact can do without' };
  }
  const windowMs = durationOf(window);
  const mostMs = kind === 'exact' ? MAXIMUM_WINDOW_MS : MAX_WINDOW_MS;
  if (typeof windowMs === 'string') return { field: 'window', message: `${windowMs}; ${WORDS_OF_WINDOWS}` };
  if (windowMs < 1 || windowMs > mostMs)
    return { field: 'window', message: `${quote(window)} is not 1 to ${mostMs} milliseconds long` };
  return { windowMs };
}

function calendarOf({ kind, timeZone = 'UTC', anchorDay = 1 }: LimitEntry, unit: CalendarUnit): LimitWindow | Fault {
  if (kind !== 'exact' && kind !== 'fixed')
    return { field: 'window', message: `windows of the calendar are for the kinds exact and fixed, not ${kind}` };
  const calendar = { unit, timeZone, anchorDay };
  const message = findCalendarFault(calendar);
  if (message === undefined) return { windowMs: calendarWindowMs(calendar), calendar };
  return { field: message.includes('zone') ? 'timeZone' : 'anchorDay', message };
}

/** Milliseconds, or the mistake. */
export function durationOf(given: string | number): number | string {
  const milliseconds = typeof given === 'string' ? parseDuration(given) : undefined;
  if (milliseconds !== undefined) return milliseconds;
  if (typeof given === 'number' || /^\d+$/.test(given))
    return `${quote(given)} has no unit: write ${given}s or ${given}ms`;
  return `${quote(given)} is no duration: ${DURATION_EXAMPLES}`;
}

export function isFault(found: LimitWindow | Fault): found is Fault {
  return 'message' in found;
}
