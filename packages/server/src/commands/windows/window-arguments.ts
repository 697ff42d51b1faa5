import type { Request } from '@quotadb/wire';
import { MAX_CELL_KEY_BYTES, MAX_START_MS, MAX_WINDOW_MS } from '../../cells/cell-key.js';
import { WindowCell } from '../../cells/window-cell.js';
import { errors } from '../../errors.js';
import { argumentIs, integerArgument, integerHalves, keyword, numberArgument } from '../arguments.js';
import type { Call } from '../command.js';

const START = keyword('START');

/** One for the thread: a command has done with it before the next begins. */
export const cell = new WindowCell();

/**
 * Reads `key window-ms` and, from `optionsAt` on, `[START start-ms]`, and chooses the window. False having replied with an error.
 */
export function chooseWindow(call: Call, optionsAt: number): boolean {
  const { request, reply, engine } = call;
  if (request.argumentLength[1] > MAX_CELL_KEY_BYTES) {
    reply.error(errors.cellKeyTooLong);
    return false;
  }
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
  if (!isStartOption(request, optionsAt)) {
    reply.error(errors.syntax);
    return false;
  }
  const lengthMs = numberArgument(request, 2);
  const startMs = numberArgument(request, optionsAt + 1);
  if (Number.isNaN(startMs)) {
    reply.error(errors.notAnInteger);
    return false;
  }
  if (lengthMs < 1 || lengthMs > MAX_WINDOW_MS) {
    reply.error(errors.windowLength);
    return false;
  }
  if (startMs < 0 || startMs > MAX_START_MS) {
    reply.error(errors.windowStart);
    return false;
  }
  cell.choose(lengthMs, startMs);
  return true;
}

function isStartOption(request: Request, index: number): boolean {
  return request.argumentCount === index + 2 && argumentIs(request, index, START);
}

/** `[count, start-ms, end-ms]` */
export function replyWindow({ reply }: Call, countHigh: number, countLow: number): void {
  reply.array(3);
  reply.integer64(countHigh, countLow);
  reply.integer64(cell.startHigh, cell.startLow);
  reply.integer64(cell.endHigh, cell.endLow);
}
