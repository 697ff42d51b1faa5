import { CALENDAR_UNITS, type Calendar, type CalendarUnit, findCalendarFault } from '@quotadb/engine';
import { errors } from '../../errors/errors.js';
import { textArgument } from '../../request/arguments.js';
import type { Call } from '../../session/command.js';

/** Returned after an error reply. */
export const REFUSED_CALENDAR = 'refused';

/** By how they are written: the same object again, so that what follows from it is kept too (engine, calendar). */
const known = new Map<string, Calendar>();
const MAXIMUM_KNOWN = 1000;
const LOWEST_LETTER = 0x41;
const FORM = /^(\w+)(?:@([^:]+))?(?::(\d{1,2}))?$/;

/**
 * A window of the calendar, `unit[@zone][:day]`: month, day@Europe/Berlin, month@UTC:15. Undefined where the argument
 * is none: durations begin with a digit.
 */
export function calendarArgument(
  { request, reply }: Call,
  index: number,
): Calendar | undefined | typeof REFUSED_CALENDAR {
  if (request.input.bytes[request.argumentStart[index]] < LOWEST_LETTER) return undefined;
  const text = textArgument(request, index);
  const found = known.get(text);
  if (found !== undefined) return found;
  const [, unit = text, timeZone = 'UTC', day = '1'] = FORM.exec(text) ?? [];
  if (!CALENDAR_UNITS.includes(unit as CalendarUnit)) {
    reply.error(errors.calendarNotUnderstood(text, `its unit is one of ${CALENDAR_UNITS.join(', ')}`));
    return REFUSED_CALENDAR;
  }
  const calendar = { unit: unit as CalendarUnit, timeZone, anchorDay: Number(day) };
  const fault = findCalendarFault(calendar);
  if (fault !== undefined) {
    reply.error(errors.calendarNotUnderstood(text, fault));
    return REFUSED_CALENDAR;
  }
  if (known.size >= MAXIMUM_KNOWN) known.clear();
  known.set(text, calendar);
  return calendar;
}
