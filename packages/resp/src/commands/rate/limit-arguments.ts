import { MAX_CELL_KEY_BYTES, MAX_WINDOW_MS, type SlidingLimit } from '@quotadb/rate';
import { errors } from '../../errors/errors.js';
import {
  argumentIs,
  keyword,
  numberArgument,
  quotedArgument,
  textArgument,
  unitsArgument,
} from '../../request/arguments.js';
import { RepeatedArgument } from '../../request/repeated-argument.js';
import type { Call } from '../../session/command.js';

/** Limits are compared as doubles, which hold every integer up to here. */
const HIGHEST = Number.MAX_SAFE_INTEGER;

/** Returned by the readers after an error reply; check with Number.isNaN. */
const REFUSED = Number.NaN;

export function isKeyRefused({ request, reply }: Call, index: number): boolean {
  if (request.argumentLength[index] <= MAX_CELL_KEY_BYTES) return false;
  reply.error(errors.cellKeyTooLong);
  return true;
}

/** Fewer milliseconds than this without a unit are more likely meant as seconds: they are refused. */
const LEAST_BARE_MS = 1000;

/** What the last requests had: nearly all have the same limits and windows. By the index of the argument. */
const lastLimits = [new RepeatedArgument(), new RepeatedArgument(), new RepeatedArgument(), new RepeatedArgument()];
const lastWindow = new RepeatedArgument();

/** The length of a window: milliseconds from 1000 on, or a duration such as 60s. */
export function windowArgument(call: Call, index: number): number {
  if (lastWindow.is(call.request, index)) return lastWindow.value;
  const windowMs = readWindow(call, index);
  return Number.isNaN(windowMs) ? windowMs : lastWindow.keep(call.request, index, windowMs);
}

function readWindow(call: Call, index: number): number {
  const value = numberArgument(call.request, index);
  if (value >= LEAST_BARE_MS && value <= MAX_WINDOW_MS) return value;
  return Number.isNaN(value) ? durationArgument(call, index) : refuseWindow(call, index, value);
}

function durationArgument({ request, reply }: Call, index: number): number {
  const windowMs = unitsArgument(request, index);
  if (windowMs >= 1 && windowMs <= MAX_WINDOW_MS) return windowMs;
  reply.error(
    Number.isNaN(windowMs)
      ? errors.windowNotUnderstood(textArgument(request, index))
      : errors.windowLength(quotedArgument(request, index)),
  );
  return REFUSED;
}

function refuseWindow({ request, reply }: Call, index: number, value: number): number {
  const isBare = value >= 1 && value < LEAST_BARE_MS;
  reply.error(isBare ? errors.windowUnit(value) : errors.windowLength(quotedArgument(request, index)));
  return REFUSED;
}

export function limitArgument(call: Call, index: number, name = 'limit', lowest = 0, highest = HIGHEST): number {
  const last = lastLimits[index & (lastLimits.length - 1)];
  const isLast = last.is(call.request, index) && last.value >= lowest && last.value <= highest;
  if (isLast) return last.value;
  return last.keep(call.request, index, boundedArgument(call, index, name, lowest, highest));
}

/** Reads `key limit window` and locates that limit; false after an error reply. */
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

/** 1 where the argument is left out. */
export function costArgument(call: Call, index: number): number {
  if (index >= call.request.argumentCount) return 1;
  return boundedArgument(call, index, 'cost', 0, HIGHEST);
}

const PUBLISH = keyword('publish');
const PUBLISH_WORDS = 2;
const OPTIONS = 'PUBLISH and a percentage may follow, once';
const ALL_PERCENT = 100;

/** The percentage of the last option, `PUBLISH percent`; without the option, the server's setting. */
export function publishArgument(call: Call, index: number): number {
  const { request, reply } = call;
  if (index >= request.argumentCount) return call.server.config.ratePublishPercent;
  const isPublish = argumentIs(request, index, PUBLISH);
  if (isPublish && request.argumentCount === index + PUBLISH_WORDS)
    return boundedArgument(call, index + 1, 'PUBLISH', 0, ALL_PERCENT);
  const wrong = isPublish ? index + PUBLISH_WORDS : index;
  reply.error(
    wrong < request.argumentCount
      ? errors.syntaxAt(wrong, quotedArgument(request, wrong), OPTIONS)
      : errors.valueMissing(quotedArgument(request, index), OPTIONS),
  );
  return REFUSED;
}

function boundedArgument(call: Call, index: number, name: string, lowest: number, highest: number): number {
  const value = numberArgument(call.request, index);
  if (value >= lowest && value <= highest) return value;
  call.reply.error(errors.notBetween(name, quotedArgument(call.request, index), lowest, highest));
  return REFUSED;
}
