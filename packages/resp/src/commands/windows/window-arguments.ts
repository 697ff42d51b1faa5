import { type Calendar, calendarWindowAt, calendarWindowEndMs, calendarWindowStartMs } from '@quotadb/engine';
import { MAX_START_MS, WindowCell } from '@quotadb/rate';
import type { Request } from '@quotadb/wire';
import { errors } from '../../errors/errors.js';
import { argumentIs, keyword, numberArgument, quotedArgument } from '../../request/arguments.js';
import type { Call } from '../../session/command.js';
import { isKeyRefused, windowArgument } from '../rate/limit-arguments.js';
import { calendarArgument, REFUSED_CALENDAR } from './calendar-argument.js';

const WINDOW = 2;
const TWO_POW_32 = 0x1_0000_0000;

const START = keyword('START');
const START_WORDS = 2;
const OPTIONS = 'START and a time in milliseconds may follow, once';

/** One per thread: used by one command at a time. */
export const cell = new WindowCell();

/**
 * Reads `key window` and, from `optionsAt` on, `[START start-ms]`, and chooses the window. False after an error reply.
 */
export function chooseWindow(call: Call, optionsAt: number): boolean {
  const { request, engine } = call;
  if (isKeyRefused(call, 1)) return false;
  const calendar = calendarArgument(call, WINDOW);
  if (calendar === REFUSED_CALENDAR) return false;
  if (calendar !== undefined) return chooseCalendar(call, calendar, optionsAt);
  const lengthMs = windowArgument(call, WINDOW);
  if (Number.isNaN(lengthMs)) return false;
  if (request.argumentCount > optionsAt) return chooseNamed(call, lengthMs, optionsAt);
  return cell.chooseCurrent(engine, Math.floor(lengthMs / TWO_POW_32), lengthMs | 0);
}

function chooseNamed(call: Call, lengthMs: number, optionsAt: number): boolean {
  const startMs = startArgument(call, optionsAt);
  if (!Number.isNaN(startMs)) cell.choose(lengthMs, startMs);
  return !Number.isNaN(startMs);
}

/** The window that now, or START, lies in. */
function chooseCalendar(call: Call, calendar: Calendar, optionsAt: number): boolean {
  const { request, engine } = call;
  const atMs = request.argumentCount > optionsAt ? startArgument(call, optionsAt) : engine.nowMs;
  if (Number.isNaN(atMs)) return false;
  const window = calendarWindowAt(calendar, atMs);
  const startMs = calendarWindowStartMs(window);
  cell.choose(calendarWindowEndMs(window) - startMs, startMs);
  return true;
}

/** NaN after an error reply. */
function startArgument({ request, reply }: Call, optionsAt: number): number {
  const mistake = findOptionMistake(request, optionsAt);
  const startMs = mistake === undefined ? numberArgument(request, optionsAt + 1) : Number.NaN;
  if (startMs >= 0 && startMs <= MAX_START_MS) return startMs;
  reply.error(mistake ?? errors.notBetween('START', quotedArgument(request, optionsAt + 1), 0, MAX_START_MS));
  return Number.NaN;
}

function findOptionMistake(request: Request, at: number): string | undefined {
  const end = at + START_WORDS;
  if (!argumentIs(request, at, START)) return errors.syntaxAt(at, quotedArgument(request, at), OPTIONS);
  if (request.argumentCount < end) return errors.valueMissing(quotedArgument(request, at), OPTIONS);
  return request.argumentCount === end ? undefined : errors.syntaxAt(end, quotedArgument(request, end), OPTIONS);
}

/** `[count, start-ms, end-ms]` of the chosen window. */
export function replyWindow({ reply }: Call): void {
  reply.array(3);
  reply.integer64(cell.countHigh, cell.countLow);
  reply.integer64(cell.startHigh, cell.startLow);
  reply.integer64(cell.endHigh, cell.endLow);
}
