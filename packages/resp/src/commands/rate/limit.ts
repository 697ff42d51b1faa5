import { Status } from '@quotadb/engine';
import { Charge, SlidingLimit } from '@quotadb/rate';
import { statusError } from '../../errors/errors.js';
import type { Call } from '../../session/command.js';
import { defineFamily } from '../../session/define.js';
import { costArgument, locateLimit, publishArgument } from './limit-arguments.js';
import { noteRate } from './note-rate.js';

const KEY = 1;
const COST = 4;
const PUBLISH = 5;

/** One for the thread: a command has finished with it before the next begins. */
const sliding = new SlidingLimit();

/** RATE.LIMIT, RATE.PEEK and RATE.ADD. */
function decide(call: Call, charge: Charge): void {
  if (!locateLimit(call, KEY, sliding)) return;
  const cost = costArgument(call, COST);
  if (Number.isNaN(cost)) return;
  const publishPercent = publishArgument(call, PUBLISH);
  if (Number.isNaN(publishPercent)) return;
  const status = sliding.decide(call.engine, cost, publishPercent, charge);
  if (status !== Status.Ok) {
    call.reply.error(statusError(status));
    return;
  }
  if (charge !== Charge.Never) noteRate(call, KEY, sliding.allowed);
  replyDecision(call, sliding);
}

/** `[allowed, limit, remaining, reset-ms, retry-after-ms]` */
export function replyDecision({ reply }: Call, decided: SlidingLimit): void {
  reply.array(5);
  reply.integer(decided.allowed ? 1 : 0);
  reply.integer(decided.limit);
  reply.integer(decided.remaining);
  reply.integer(decided.resetAfterMs);
  reply.integer(decided.retryAfterMs);
}

const define = defineFamily({
  keys: [1, 1, 1],
  group: 'rate',
  arity: -4,
  quotaSuffices: true,
  since: 'quotadb 0.1.0',
  syntax: 'key limit window-ms [cost [PUBLISH percent]]',
});

export const rateLimit = define({
  name: 'rate.limit',
  flags: ['write', 'denyoom', 'fast'],
  summary:
    'Counts a request against the limit of a sliding window if it is within it. Returns whether it is, the limit, what remains, milliseconds to the end of the current window, and after how many to try again (-1: never).',
  run: (call) => decide(call, Charge.IfAllowed),
});

export const ratePeek = define({
  name: 'rate.peek',
  flags: ['readonly', 'fast'],
  summary: 'Returns what RATE.LIMIT would, and counts nothing.',
  run: (call) => decide(call, Charge.Never),
});

/** For clients that decide in their own process, and report what they admitted. */
export const rateAdd = define({
  name: 'rate.add',
  flags: ['write', 'denyoom', 'fast'],
  summary: 'Counts what was admitted elsewhere, within the limit or not. Returns what RATE.LIMIT does.',
  run: (call) => decide(call, Charge.Always),
});
