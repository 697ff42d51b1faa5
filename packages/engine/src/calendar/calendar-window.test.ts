import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  CALENDAR_UNITS,
  type Calendar,
  type CalendarUnit,
  calendarWindowAt,
  calendarWindowEndMs,
  calendarWindowStartMs,
  findCalendarFault,
  isCalendarWindow,
} from './calendar-window.js';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

/** Shifts of an hour, of half an hour, at midnight, one minute after it, of a whole day, and none. */
const ZONES = [
  'UTC',
  'Europe/Berlin',
  'America/New_York',
  'Australia/Lord_Howe',
  'America/St_Johns',
  'America/Sao_Paulo',
  'America/Santiago',
  'America/Havana',
  'Asia/Beirut',
  'Africa/Cairo',
  'Africa/Casablanca',
  'Asia/Kathmandu',
  'Asia/Tehran',
  'Asia/Pyongyang',
  'Pacific/Apia',
  'Pacific/Chatham',
  'Pacific/Kiritimati',
  'Antarctica/Troll',
];

function calendarOf(unit: CalendarUnit, timeZone: string, anchorDay = 1): Calendar {
  return { unit, timeZone, anchorDay };
}

function spanAt(calendar: Calendar, at: string): [start: string, end: string] {
  const window = calendarWindowAt(calendar, Date.parse(at));
  const text = (ms: number) => new Date(ms).toISOString().replace(':00.000Z', 'Z');
  return [text(calendarWindowStartMs(window)), text(calendarWindowEndMs(window))];
}

describe('a window begins and ends as the calendar of its time zone does', () => {
  test.each([
    ['a day of 23 hours', 'day', 'Europe/Berlin', 1, '2026-03-29T12:00Z', '2026-03-28T23:00Z', '2026-03-29T22:00Z'],
    ['a day of 25 hours', 'day', 'Europe/Berlin', 1, '2026-10-25T12:00Z', '2026-10-24T22:00Z', '2026-10-25T23:00Z'],
    [
      'a day of 23.5 hours',
      'day',
      'Australia/Lord_Howe',
      1,
      '2026-10-04T00:00Z',
      '2026-10-03T13:30Z',
      '2026-10-04T13:00Z',
    ],
    [
      'a day without midnight',
      'day',
      'America/Sao_Paulo',
      1,
      '2018-11-04T12:00Z',
      '2018-11-04T03:00Z',
      '2018-11-05T02:00Z',
    ],
    ['midnight twice', 'day', 'America/Havana', 1, '2025-11-02T12:00Z', '2025-11-02T04:00Z', '2025-11-03T05:00Z'],
    [
      'the day before one that was skipped',
      'day',
      'Pacific/Apia',
      1,
      '2011-12-30T09:00Z',
      '2011-12-29T10:00Z',
      '2011-12-30T10:00Z',
    ],
    ['the day after it', 'day', 'Pacific/Apia', 1, '2011-12-30T11:00Z', '2011-12-30T10:00Z', '2011-12-31T10:00Z'],
    ['a leap day', 'day', 'UTC', 1, '2028-02-29T12:00Z', '2028-02-29T00:00Z', '2028-03-01T00:00Z'],
    [
      'an hour, the first time',
      'hour',
      'Europe/Berlin',
      1,
      '2026-10-25T00:30Z',
      '2026-10-25T00:00Z',
      '2026-10-25T01:00Z',
    ],
    [
      'an hour, the second time',
      'hour',
      'Europe/Berlin',
      1,
      '2026-10-25T01:30Z',
      '2026-10-25T01:00Z',
      '2026-10-25T02:00Z',
    ],
    ['half an hour', 'hour', 'Australia/Lord_Howe', 1, '2026-04-04T15:10Z', '2026-04-04T15:00Z', '2026-04-04T15:30Z'],
    [
      'an hour of a zone with quarters',
      'hour',
      'Asia/Kathmandu',
      1,
      '2026-01-01T00:00Z',
      '2025-12-31T23:15Z',
      '2026-01-01T00:15Z',
    ],
    ['a week from Monday', 'week', 'UTC', 1, '2026-11-18T12:00Z', '2026-11-16T00:00Z', '2026-11-23T00:00Z'],
    [
      'a week from Sunday',
      'week',
      'America/New_York',
      7,
      '2026-03-08T12:00Z',
      '2026-03-08T05:00Z',
      '2026-03-15T04:00Z',
    ],
    ['February of a leap year', 'month', 'UTC', 1, '2028-02-10T00:00Z', '2028-02-01T00:00Z', '2028-03-01T00:00Z'],
    ['a month from the 31st', 'month', 'UTC', 31, '2026-02-28T12:00Z', '2026-02-28T00:00Z', '2026-03-31T00:00Z'],
    [
      'the 31st before a short month',
      'month',
      'UTC',
      31,
      '2026-02-27T12:00Z',
      '2026-01-31T00:00Z',
      '2026-02-28T00:00Z',
    ],
    [
      'a month over the turn of the year',
      'month',
      'Europe/Berlin',
      15,
      '2027-01-03T00:00Z',
      '2026-12-14T23:00Z',
      '2027-01-14T23:00Z',
    ],
  ] as const)('%s', (_, unit, zone, anchor, at, start, end) => {
    expect(spanAt(calendarOf(unit, zone, anchor), at)).toEqual([start, end]);
  });
});

/** The wall clock as Intl prints it: `2026-10-25 02:30`, which sorts as time does. */
const printers = new Map(
  ZONES.map((timeZone) => [
    timeZone,
    new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'short' }),
  ]),
);

function printed(timeZone: string, atMs: number): string {
  return (printers.get(timeZone) as Intl.DateTimeFormat).format(atMs);
}

/** Whether a window begins on a date, which is all that an anchor says. */
function isFirst({ unit, anchorDay }: Calendar, date: string): boolean {
  const day = new Date(`${date}T00:00:00Z`);
  const tomorrow = new Date(day.getTime() + 24 * HOUR_MS);
  if (unit === 'week') return ((day.getUTCDay() + 6) % 7) + 1 === anchorDay;
  if (unit === 'month')
    return day.getUTCDate() === anchorDay || (day.getUTCDate() < anchorDay && tomorrow.getUTCDate() === 1);
  return true;
}

/**
 * Whether a window of days begins at a moment, found by walking: a date is there that never was there before, and the
 * window's first day is among those that it has passed since.
 */
function beginsDays(calendar: Calendar, atMs: number): boolean {
  const { timeZone } = calendar;
  let latest = '';
  for (let ms = atMs - 26 * HOUR_MS; ms < atMs; ms += MINUTE_MS) {
    const date = printed(timeZone, ms).slice(0, 10);
    if (date > latest) latest = date;
  }
  const now = printed(timeZone, atMs).slice(0, 10);
  for (let day = Date.parse(latest) + 24 * HOUR_MS; day <= Date.parse(now); day += 24 * HOUR_MS)
    if (isFirst(calendar, new Date(day).toISOString().slice(0, 10))) return true;
  return false;
}

function offsetOf(timeZone: string, atMs: number): number {
  return Date.parse(`${printed(timeZone, atMs).replace(' ', 'T')}:00Z`) - atMs;
}

function beginsHour({ timeZone }: Calendar, atMs: number): boolean {
  return printed(timeZone, atMs).endsWith(':00') || offsetOf(timeZone, atMs) !== offsetOf(timeZone, atMs - MINUTE_MS);
}

const calendars = fc
  .tuple(fc.constantFrom(...CALENDAR_UNITS), fc.constantFrom(...ZONES), fc.integer({ min: 1, max: 31 }))
  .map(([unit, timeZone, anchor]) =>
    calendarOf(unit, timeZone, unit === 'month' ? anchor : unit === 'week' ? 1 + (anchor % 7) : 1),
  );
const moments = fc.integer({ min: Date.parse('1975-01-01'), max: Date.parse('2039-01-01') });
/** The hours around the first day of a quarter of a year: most changes of clocks are near one of them. */
const changes = fc
  .tuple(
    fc.integer({ min: 1976, max: 2037 }),
    fc.constantFrom(2, 3, 8, 9, 10),
    fc.integer({ min: 0, max: 31 * 24 * 60 }),
  )
  .map(([year, month, minutes]) => Date.UTC(year, month, 1) + minutes * MINUTE_MS);

test('every moment lies in one window, as walking minute by minute finds it, in all zones and years', () => {
  fc.assert(
    fc.property(calendars, fc.oneof(moments, changes), (calendar, atMs) => {
      const window = calendarWindowAt({ ...calendar }, atMs);
      const [startMs, endMs] = [calendarWindowStartMs(window), calendarWindowEndMs(window)];
      expect(startMs <= atMs && atMs < endMs).toBe(true);
      const begins = calendar.unit === 'hour' ? beginsHour : beginsDays;
      expect(begins(calendar, startMs)).toBe(true);
      expect(begins(calendar, endMs)).toBe(true);
      // No window begins between: walked where that is short, at every midnight's neighbourhood where it is not.
      const step = calendar.unit === 'hour' ? MINUTE_MS : Math.max(MINUTE_MS, Math.floor((endMs - startMs) / 97));
      if (calendar.unit === 'hour')
        for (let ms = startMs + step; ms < endMs; ms += step) expect(begins(calendar, ms)).toBe(false);
      for (let ms = startMs; ms < endMs; ms += step) expect(calendarWindowAt({ ...calendar }, ms)).toBe(window);
      expect(calendarWindowStartMs(calendarWindowAt({ ...calendar }, endMs))).toBe(endMs);
      expect(calendarWindowEndMs(calendarWindowAt({ ...calendar }, startMs - 1))).toBe(startMs);
    }),
    { numRuns: 400 },
  );
}, 120_000);

test('days follow each other without a gap through twenty years of changes of the clocks', () => {
  for (const timeZone of ['Europe/Berlin', 'America/St_Johns', 'Pacific/Apia', 'Africa/Casablanca']) {
    const calendar = calendarOf('day', timeZone);
    let atMs = Date.parse('2005-06-01');
    let days = 0;
    for (; atMs < Date.parse('2026-01-01'); days++) {
      const window = calendarWindowAt(calendar, atMs);
      expect(calendarWindowEndMs(calendarWindowAt(calendar, calendarWindowStartMs(window) - 1))).toBe(
        calendarWindowStartMs(window),
      );
      atMs = calendarWindowEndMs(window);
    }
    const dates = (Date.parse(printed(timeZone, atMs).slice(0, 10)) - Date.parse('2005-06-01')) / (24 * HOUR_MS);
    // Samoa left one date out.
    expect(Math.abs(days - dates)).toBeLessThanOrEqual(2);
  }
}, 120_000);

test('only windows that these rules make are windows', () => {
  const calendar = calendarOf('day', 'Europe/Berlin');
  const window = calendarWindowAt(calendar, Date.parse('2026-03-29T12:00Z'));
  expect(isCalendarWindow(calendar, window)).toBe(true);
  expect(isCalendarWindow({ ...calendar }, window)).toBe(true);
  for (const other of [window + 1, window - 60, window + 2 ** 20, -window, 0.5, 20_000, Number.MAX_SAFE_INTEGER])
    expect(isCalendarWindow(calendar, other), String(other)).toBe(false);
  expect(isCalendarWindow(calendarOf('day', 'UTC'), window)).toBe(false);
  expect(calendarWindowAt(calendar, Date.parse('2026-03-29T12:00Z'))).toBe(window);
});

test.each([
  [{ unit: 'year', timeZone: 'UTC', anchorDay: 1 }, /hour, day, week, month/],
  [{ unit: 'day', timeZone: 'Europe/Atlantis', anchorDay: 1 }, /'Europe\/Atlantis' is no time zone/],
  [{ unit: 'day', timeZone: 'x'.repeat(100), anchorDay: 1 }, /no time zone/],
  [{ unit: 'day', timeZone: 5, anchorDay: 1 }, /no time zone/],
  [{ unit: 'week', timeZone: 'UTC', anchorDay: 8 }, /from 1 to 7, not 8/],
  [{ unit: 'month', timeZone: 'UTC', anchorDay: 0 }, /from 1 to 31, not 0/],
  [{ unit: 'day', timeZone: 'UTC', anchorDay: 3 }, /no anchor day/],
  [null, /calendar window/],
])('%j is no calendar', (given, fault) => {
  expect(findCalendarFault(given)).toMatch(fault);
});
