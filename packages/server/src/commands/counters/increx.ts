import { Status } from '@quotadb/engine';
import { errors, statusError } from '../../errors.js';
import type { Call, Command } from '../command.js';
import { positiveTimeArgument } from '../keys/expiry-time.js';
import { Decision } from './bounded-increment.js';
import { type IncrexOptions, readIncrexOptions } from './increx-options.js';

/**
 * INCREX, as Redis 8.8 has it: an increment that stays within bounds, with an expiry, in one step. The reply is the value and how much was
 * added. What the bounds decline leaves the key as it was, and does not create it.
 */

/** Sets, starts or removes the expiry of the open key, as the options say. */
function changeExpiry({ engine }: Call, options: IncrexOptions, expiresAtMs: number): Status {
  if (options.persists) return engine.persist();
  if (expiresAtMs === 0) return Status.Ok;
  if (options.onlyWithoutExpiry && engine.expiresAtMs !== 0) return Status.Ok;
  return engine.expireAt(expiresAtMs);
}

export const increx: Command = {
  name: 'increx',
  arity: -2,
  flags: ['write', 'denyoom', 'fast'],
  keys: [1, 1, 1],
  group: 'counter',
  summary: 'Increments a counter within bounds and sets its expiration time. A key that does not exist counts from 0.',
  since: '8.8.0',
  complexity: 'O(1)',
  syntax:
    'key [BYINT increment] [LBOUND lowerbound] [UBOUND upperbound] [SATURATE] [EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | PERSIST] [ENX]',
  run: (call) => {
    const { request, reply, engine } = call;
    const options = readIncrexOptions(call);
    if (options === undefined) return;
    let expiresAtMs = 0;
    if (options.expiryUnit !== undefined) {
      expiresAtMs = positiveTimeArgument(call, options.expiryIndex, options.expiryUnit, 'increx');
      if (Number.isNaN(expiresAtMs)) return;
    }

    const { increment } = options;
    engine.open(request.input, request.argumentStart[1], request.argumentLength[1]);
    const decision = increment.decide(engine.valueHigh, engine.valueLow);
    let status: Status = Status.Ok;
    if (decision === Decision.Apply) status = engine.add(increment.appliedHigh, increment.appliedLow);
    const high = engine.valueHigh;
    const low = engine.valueLow;
    if (decision === Decision.Apply && status === Status.Ok) status = changeExpiry(call, options, expiresAtMs);
    engine.close();

    if (status !== Status.Ok) return reply.error(statusError(status));
    if (decision === Decision.Overflow) return reply.error(errors.appliedOverflow);
    reply.array(2);
    reply.integer64(high, low);
    reply.integer64(increment.appliedHigh, increment.appliedLow);
  },
};
