import { Status } from '@quotadb/engine';
import { errors, statusError } from '../../errors.js';
import type { Call, Command } from '../command.js';
import { costArgument, isKeyRefused, limitArgument, windowArgument } from './limit-arguments.js';
import { noteRate } from './note-rate.js';
import { SlidingCells } from './sliding-cells.js';
import { retryAfterMs } from './sliding-window.js';

const KEY = 1;
const LIMIT = 2;
const WINDOW = 3;
const COST = 4;
const MAXIMUM_ARGUMENTS = 5;

/** One for the thread: a command has done with it before the next begins. */
const cells = new SlidingCells();

const Charging = { Never: 0, IfWithin: 1, Always: 2 } as const;
type Charging = (typeof Charging)[keyof typeof Charging];

/**
 * RATE.LIMIT, RATE.PEEK and RATE.ADD: a sliding window, decided here and now from what this node knows. A request that is denied burns nothing.
 */
function decide(call: Call, charging: Charging): void {
  const { request, reply, engine } = call;
  if (request.argumentCount > MAXIMUM_ARGUMENTS) {
    reply.error(errors.syntax);
    return;
  }
  if (isKeyRefused(call, KEY)) return;
  const limit = limitArgument(call, LIMIT);
  if (Number.isNaN(limit)) return;
  const windowMs = windowArgument(call, WINDOW);
  if (Number.isNaN(windowMs)) return;
  const cost = costArgument(call, COST);
  if (Number.isNaN(cost)) return;

  cells.locate(engine, request, KEY, windowMs);
  cells.openCurrent(engine);
  const isWithin = cells.counted + cost <= limit;
  const charges = charging === Charging.Always || (isWithin && charging === Charging.IfWithin);
  const status = charges && cost > 0 ? cells.charge(engine, cost) : Status.Ok;
  engine.close();
  if (status !== Status.Ok) {
    reply.error(statusError(status));
    return;
  }
  if (charging !== Charging.Never) noteRate(call, KEY, isWithin);
  replyDecision(call, cells, isWithin, limit, cost);
}

/** `[allowed, limit, remaining, reset-ms, retry-after-ms]` */
export function replyDecision(
  { reply }: Call,
  decided: SlidingCells,
  isWithin: boolean,
  limit: number,
  cost: number,
): void {
  const { current, previous, windowMs, elapsedMs } = decided;
  reply.array(5);
  reply.integer(isWithin ? 1 : 0);
  reply.integer(limit);
  reply.integer(Math.max(limit - decided.counted, 0));
  reply.integer(windowMs - elapsedMs);
  reply.integer(isWithin ? 0 : retryAfterMs(current, previous, windowMs, elapsedMs, limit, cost));
}

const shared = {
  keys: [1, 1, 1],
  group: 'rate',
  arity: -4,
  since: 'quotadb 0.1.0',
  complexity: 'O(1)',
  syntax: 'key limit window-ms [cost]',
} as const;

export const rateLimit: Command = {
  ...shared,
  name: 'rate.limit',
  flags: ['write', 'denyoom', 'fast'],
  summary:
    'Counts a request against the limit of a sliding window if it is within it. Returns whether it is, the limit, what remains, milliseconds to the end of the current window, and after how many to try again (-1: never).',
  run: (call) => decide(call, Charging.IfWithin),
};

export const ratePeek: Command = {
  ...shared,
  name: 'rate.peek',
  flags: ['readonly', 'fast'],
  summary: 'Returns what RATE.LIMIT would, and counts nothing.',
  run: (call) => decide(call, Charging.Never),
};

/** For clients that decide in their own process, and tell what they admitted. */
export const rateAdd: Command = {
  ...shared,
  name: 'rate.add',
  flags: ['write', 'denyoom', 'fast'],
  summary: 'Counts what was admitted elsewhere, within the limit or not. Returns what RATE.LIMIT does.',
  run: (call) => decide(call, Charging.Always),
};
