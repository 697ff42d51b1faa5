import { Status } from '@quotadb/engine';
import { Charge, SlidingLimit } from '@quotadb/rate';
import { statusError } from '../../errors/errors.js';
import { writeDecision } from '../../reply/decision.js';
import type { Call } from '../../session/command.js';
import { defineFamily } from '../../session/define.js';
import { costArgument, locateLimit, publishArgument } from './limit-arguments.js';

const KEY = 1;
const COST = 4;
const PUBLISH = 5;

/** One per thread: used by one command at a time. */
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

/** Counts a rate decision on the key at this index of the request; see HotIdentifiers for the cost. */
export function noteRate({ request, server }: Call, index: number, isAllowed: boolean): void {
  const { input, argumentStart, argumentLength } = request;
  server.statistics.rates.note(input.bytes, argumentStart[index], argumentLength[index], isAllowed);
}

/** `[allowed, limit, remaining, reset-ms, retry-after-ms]` */
export function replyDecision({ reply }: Call, decided: SlidingLimit): void {
  const { allowed, limit, remaining, resetAfterMs, retryAfterMs } = decided;
  writeDecision(reply, allowed, limit, remaining, resetAfterMs, retryAfterMs);
}

const define = defineFamily({
  keys: [1, 1, 1],
  group: 'rate',
  arity: -4,
  quotaSuffices: true,
  since: 'quotadb 0.1.0',
  syntax: 'key limit window [cost [PUBLISH percent]]',
});

export const rateLimit = define({
  name: 'rate.limit',
  flags: ['write', 'denyoom', 'fast'],
  summary:
    'Counts a request against the limit of a sliding window if it is within the limit. Returns allowed (1 or 0), the ' +
    'limit, the remaining requests, the milliseconds to the end of the current window, and those after which a retry ' +
    'makes sense (-1: never).',
  run: (call) => decide(call, Charge.IfAllowed),
});

export const ratePeek = define({
  name: 'rate.peek',
  flags: ['readonly', 'fast'],
  summary: 'Returns the reply of RATE.LIMIT without counting.',
  run: (call) => decide(call, Charge.Never),
});

/** For clients that decide in their own process and report the requests they admitted. */
export const rateAdd = define({
  name: 'rate.add',
  flags: ['write', 'denyoom', 'fast'],
  summary: 'Counts requests admitted elsewhere, within the limit or not. Returns the reply of RATE.LIMIT.',
  run: (call) => decide(call, Charge.Always),
});
