import { MAX_CELL_KEY_BYTES, MAX_WINDOW_MS, type SlidingLimit } from '@quotadb/rate';
import { errors } from '../../errors.js';
import { argumentIs, keyword, numberArgument } from '../arguments.js';
import type { Call } from '../command.js';

/** Up to here a double holds every integer, and limits are compared as doubles. */
const HIGHEST = Number.MAX_SAFE_INTEGER;

/** What the readers return having replied with an error; check with Number.isNaN. */
const REFUSED = Number.NaN;

export function isKeyRefused({ request, reply }: Call, index: number): boolean {
  if (request.argumentLength[index] <= MAX_CELL_KEY_BYTES) return false;
  reply.error(errors.cellKeyTooLong);
  return true;
}

export function windowArgument(call: Call, index: number): number {
  return boundedArgument(call, index, 1, MAX_WINDOW_MS, errors.windowLength);
}

export function limitArgument(call: Call, index: number, lowest = 0, highest = HIGHEST): number {
  return boundedArgument(call, index, lowest, highest, errors.limitOutOfRange);
}

/** Reads `key limit window-ms` and locates that limit; false having replied with an error. */
export function locateLimit(call: Call, keyIndex: number, sliding: SlidingLimit): boolean {
  const { input, argumentStart, argumentLength } = call.request;
  if (isKeyRefused(call, keyIndex)) return false;
  const limit = limitArgument(call, keyIndex + 1);
  if (Number.isNaN(limit)) return false;
  const windowMs = windowArgument(call, keyIndex + 2);
  if (Number.isNaN(windowMs)) return false;
  sliding.locate(call.engine, input, argumentStart[keyIndex], argumentLength[keyIndex], limit, windowMs);
  return true;
}

/** 1 where it is left out. */
export function costArgument(call: Call, index: number): number {
  if (index >= call.request.argumentCount) return 1;
  return boundedArgument(call, index, 0, HIGHEST, errors.costOutOfRange);
}

const PUBLISH = keyword('publish');
const PUBLISH_WORDS = 2;
const ALL_PERCENT = 100;

/** The percentage behind PUBLISH, the last words of a command; where they are left out, the server's own. */
export function publishArgument(call: Call, index: number): number {
  const { request, reply } = call;
  if (index >= request.argumentCount) return call.server.config.ratePublishPercent;
  if (request.argumentCount === index + PUBLISH_WORDS && argumentIs(request, index, PUBLISH))
    return boundedArgument(call, index + 1, 0, ALL_PERCENT, errors.publishOutOfRange);
  reply.error(errors.syntax);
  return REFUSED;
}

function boundedArgument(call: Call, index: number, lowest: number, highest: number, error: string): number {
  const value = numberArgument(call.request, index);
  if (value >= lowest && value <= highest) return value;
  call.reply.error(Number.isNaN(value) ? errors.notAnInteger : error);
  return REFUSED;
}
