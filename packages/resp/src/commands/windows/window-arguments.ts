import { type Calendar, calendarWindowAt, calendarWindowEndMs, calendarWindowStartMs } from '@quotadb/engine';
import { MAX_START_MS, WindowCell } from '@quotadb/rate';
import { errors } from '../../errors/errors.js';
import { argumentIs, keyword, numberArgument } from '../../request/arguments.js';
import type { Call } from '../../session/command.js';
import { isKeyRefused, windowArgument } from '../rate/limit-arguments.js';
import { calendarArgument, REFUSED_CALENDAR } from './calendar-argument.js';

const WINDOW = 2;
const TWO_POW_32 = 0x1_0000_0000;

const START = keyword('START');
const START_WORDS = 2;

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
  const startMs = numberArgument(request, optionsAt + 1);
  let error: string | undefined;
  if (request.argumentCount !== optionsAt + START_WORDS || !argumentIs(request, optionsAt, START))
    error = errors.syntax;
  else if (Number.isNaN(startMs)) error = errors.notAnInteger;
  else if (startMs < 0 || startMs > MAX_START_MS) error = errors.windowStart;
  if (error === undefined) return startMs;
  reply.error(error);
  return Number.NaN;
}

/** `[count, start-ms, end-ms]` of the chosen window. */
export function replyWindow({ reply }: Call): void {
  reply.array(3);
  reply.integer64(cell.countHigh, cell.countLow);
  reply.integer64(cell.startHigh, cell.startLow);
  reply.integer64(cell.endHigh, cell.endLow);
}
