import { MAX_START_MS, MAX_WINDOW_MS, WindowCell } from '@quotadb/rate';
import { errors } from '../../errors/errors.js';
import { argumentIs, integerArgument, integerHalves, keyword, numberArgument } from '../../request/arguments.js';
import type { Call } from '../../session/command.js';
import { isKeyRefused } from '../rate/limit-arguments.js';

const START = keyword('START');
const START_WORDS = 2;

/** One per thread: used by one command at a time. */
export const cell = new WindowCell();

/**
 * Reads `key window-ms` and, from `optionsAt` on, `[START start-ms]`, and chooses the window. False after an error
 * reply.
 */
export function chooseWindow(call: Call, optionsAt: number): boolean {
  const { request, reply, engine } = call;
  if (isKeyRefused(call, 1)) return false;
  if (!integerArgument(request, 2)) {
    reply.error(errors.notAnInteger);
    return false;
  }
  if (request.argumentCount > optionsAt) return chooseNamed(call, optionsAt);
  if (cell.chooseCurrent(engine, integerHalves[0], integerHalves[1])) return true;
  reply.error(errors.windowLength);
  return false;
}

function chooseNamed({ request, reply }: Call, optionsAt: number): boolean {
  const lengthMs = numberArgument(request, 2);
  const startMs = numberArgument(request, optionsAt + 1);
  let error: string | undefined;
  if (request.argumentCount !== optionsAt + START_WORDS || !argumentIs(request, optionsAt, START))
    error = errors.syntax;
  else if (Number.isNaN(startMs)) error = errors.notAnInteger;
  else if (lengthMs < 1 || lengthMs > MAX_WINDOW_MS) error = errors.windowLength;
  else if (startMs < 0 || startMs > MAX_START_MS) error = errors.windowStart;
  if (error === undefined) cell.choose(lengthMs, startMs);
  else reply.error(error);
  return error === undefined;
}

/** `[count, start-ms, end-ms]` of the chosen window. */
export function replyWindow({ reply }: Call): void {
  reply.array(3);
  reply.integer64(cell.countHigh, cell.countLow);
  reply.integer64(cell.startHigh, cell.startLow);
  reply.integer64(cell.endHigh, cell.endLow);
}
