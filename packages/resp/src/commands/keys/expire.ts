import { Status } from '@quotadb/engine';
import type { Request } from '@quotadb/wire';
import { errors, statusError } from '../../errors/errors.js';
import { argumentIs, keyword, textArgument } from '../../request/arguments.js';
import type { Call, Command } from '../../session/command.js';
import { defineFamily } from '../../session/define.js';
import {
  anyTimeArgument,
  type ExpiryUnit,
  MILLISECONDS,
  SECONDS,
  UNIX_MILLISECONDS,
  UNIX_SECONDS,
} from './expiry-time.js';

/** EXPIRE, PEXPIRE, EXPIREAT and PEXPIREAT: one command in four units. */

const FIRST_OPTION = 3;
const NX = keyword('NX');
const XX = keyword('XX');
const GT = keyword('GT');
const LT = keyword('LT');

/** The conditions for a new expiry, as bits, because XX can be combined with GT or LT. */
const ONLY_WITHOUT_EXPIRY = 1;
const ONLY_WITH_EXPIRY = 2;
const ONLY_LATER = 4;
const ONLY_EARLIER = 8;

/** For the engine 0 means no expiry, and every past time has the same effect: the key is deleted at once. */
const LONG_PAST_MS = 1;

/** The condition that an option names; 0 where it names none. */
function conditionOption(request: Request, index: number): number {
  if (argumentIs(request, index, NX)) return ONLY_WITHOUT_EXPIRY;
  if (argumentIs(request, index, XX)) return ONLY_WITH_EXPIRY;
  if (argumentIs(request, index, GT)) return ONLY_LATER;
  if (argumentIs(request, index, LT)) return ONLY_EARLIER;
  return 0;
}

/** All conditions together; negative after an error reply. */
function readConditions(call: Call): number {
  const { request, reply } = call;
  let conditions = 0;
  for (let index = FIRST_OPTION; index < request.argumentCount; index++) {
    const condition = conditionOption(request, index);
    if (condition === 0) {
      // Redis prints with C's %s, which ends at a zero byte.
      reply.error(errors.unsupportedOption(textArgument(request, index).split('\0', 1)[0]));
      return -1;
    }
    conditions |= condition;
  }
  if (conditions & ONLY_WITHOUT_EXPIRY && conditions !== ONLY_WITHOUT_EXPIRY) {
    reply.error(errors.expiryConditionsConflict);
    return -1;
  }
  if (conditions & ONLY_LATER && conditions & ONLY_EARLIER) {
    reply.error(errors.expiryComparisonsConflict);
    return -1;
  }
  return conditions;
}

/** Whether the conditions let this time replace the current one; 0 is no expiry, which counts as later than any. */
function isAllowed(conditions: number, atMs: number, currentMs: number): boolean {
  if (conditions === 0) return true;
  const hasExpiry = currentMs !== 0;
  if (conditions & ONLY_WITHOUT_EXPIRY && hasExpiry) return false;
  if (conditions & ONLY_WITH_EXPIRY && !hasExpiry) return false;
  if (conditions & ONLY_LATER && (!hasExpiry || atMs <= currentMs)) return false;
  if (conditions & ONLY_EARLIER && hasExpiry && atMs >= currentMs) return false;
  return true;
}

function expire(call: Call, unit: ExpiryUnit, commandName: string): void {
  const { request, reply, engine } = call;
  const conditions = readConditions(call);
  if (conditions < 0) return;
  const atMs = anyTimeArgument(call, 2, unit, commandName);
  if (Number.isNaN(atMs)) return;

  let status: Status = Status.Ok;
  const exists = engine.open(request.input, request.argumentStart[1], request.argumentLength[1]);
  const taken = exists && isAllowed(conditions, atMs, engine.expiresAtMs);
  if (taken) status = engine.expireAt(Math.max(atMs, LONG_PAST_MS));
  engine.close();

  if (status !== Status.Ok) reply.error(statusError(status));
  else reply.integer(taken ? 1 : 0);
}

const define = defineFamily({
  arity: -3,
  flags: ['write', 'fast'],
  keys: [1, 1, 1],
  group: 'generic',
});

export const expireCommands: readonly Command[] = [
  define({
    name: 'expire',
    summary: 'Sets the expiration time of a key in seconds.',
    since: '1.0.0',
    syntax: 'key seconds [NX | XX | GT | LT]',
    run: (call) => expire(call, SECONDS, 'expire'),
  }),
  define({
    name: 'pexpire',
    summary: 'Sets the expiration time of a key in milliseconds.',
    since: '2.6.0',
    syntax: 'key milliseconds [NX | XX | GT | LT]',
    run: (call) => expire(call, MILLISECONDS, 'pexpire'),
  }),
  define({
    name: 'expireat',
    summary: 'Sets the expiration time of a key to a Unix timestamp in seconds.',
    since: '1.2.0',
    syntax: 'key unix-time-seconds [NX | XX | GT | LT]',
    run: (call) => expire(call, UNIX_SECONDS, 'expireat'),
  }),
  define({
    name: 'pexpireat',
    summary: 'Sets the expiration time of a key to a Unix timestamp in milliseconds.',
    since: '2.6.0',
    syntax: 'key unix-time-milliseconds [NX | XX | GT | LT]',
    run: (call) => expire(call, UNIX_MILLISECONDS, 'pexpireat'),
  }),
];
