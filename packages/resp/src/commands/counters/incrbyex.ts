import { addExpiring, Status } from '@quotadb/engine';
import { errors, statusError } from '../../errors/errors.js';
import { integerArgument, integerHalves } from '../../request/arguments.js';
import { defineCommand } from '../../session/define.js';
import { absoluteMs, expiryAmount, SECONDS } from '../keys/expiry-time.js';

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
  syntax: 'key increment seconds',
  run: (call) => {
    const request = call.request;
    const engine = call.engine;
    const seconds = expiryAmount(call, EXPIRY, SECONDS, 'incrbyex');
    if (Number.isNaN(seconds)) return;
    if (!integerArgument(request, AMOUNT)) return call.reply.error(errors.notAnInteger);

    engine.open(request.input, request.argumentStart[1], request.argumentLength[1]);
    const status =
      engine.expiresAtMs === 0
        ? addExpiring(engine, integerHalves[0], integerHalves[1], absoluteMs(engine, SECONDS, seconds))
        : engine.add(integerHalves[0], integerHalves[1]);
    const high = engine.valueHigh;
    const low = engine.valueLow;
    engine.close();
    if (status === Status.Ok) call.reply.integer64(high, low);
    else call.reply.error(statusError(status));
  },
});
