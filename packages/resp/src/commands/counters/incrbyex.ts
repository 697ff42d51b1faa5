import { addExpiring, Status } from '@quotadb/engine';
import { errors, statusError } from '../../errors/errors.js';
import { durationArgument, integerArgument, integerHalves, quotedArgument } from '../../request/arguments.js';
import type { Call } from '../../session/command.js';
import { defineCommand } from '../../session/define.js';
import { absoluteMs, expiryAmount, MILLISECONDS, SECONDS } from '../keys/expiry-time.js';

const AMOUNT = 2;
const EXPIRY = 3;

/** The shortest INCREX: one command for a counter with a window, instead of INCR and EXPIRE. Allocates nothing. */
export const incrbyex = defineCommand({
  name: 'incrbyex',
  arity: 4,
  flags: ['write', 'denyoom', 'fast'],
  keys: [1, 1, 1],
  group: 'counter',
  summary: 'Increments a counter by a number, and starts its expiration time where it has none.',
  since: 'quotadb 0.1.0',
  syntax: 'key increment <seconds | duration>',
  run: (call) => {
    const request = call.request;
    const engine = call.engine;
    const lifetimeMs = readLifetimeMs(call);
    if (Number.isNaN(lifetimeMs)) return;
    if (!integerArgument(request, AMOUNT))
      return call.reply.error(`${errors.notAnInteger}: the increment is ${quotedArgument(request, AMOUNT)}`);

    engine.open(request.input, request.argumentStart[1], request.argumentLength[1]);
    const status =
      engine.expiresAtMs === 0
        ? addExpiring(engine, integerHalves[0], integerHalves[1], absoluteMs(engine, MILLISECONDS, lifetimeMs))
        : engine.add(integerHalves[0], integerHalves[1]);
    const high = engine.valueHigh;
    const low = engine.valueLow;
    engine.close();
    if (status === Status.Ok) call.reply.integer64(high, low);
    else call.reply.error(statusError(status));
  },
});

const FIRST_LETTER = 65;

/** Seconds as in SETEX, or a duration such as 90s, which ends with a letter. NaN after an error reply. */
function readLifetimeMs(call: Call): number {
  const { request, reply } = call;
  const last = request.input.bytes[request.argumentStart[EXPIRY] + request.argumentLength[EXPIRY] - 1];
  if (last < FIRST_LETTER) return expiryAmount(call, EXPIRY, SECONDS, 'incrbyex') * SECONDS.unitMs;
  const lifetimeMs = durationArgument(request, EXPIRY);
  if (lifetimeMs >= 1) return lifetimeMs;
  reply.error(errors.lifetime(quotedArgument(request, EXPIRY)));
  return Number.NaN;
}
