import { addExpiring, Status } from '@quotadb/engine';
import { errors, statusError } from '../../errors/errors.js';
import type { Call } from '../../session/command.js';
import { defineCommand } from '../../session/define.js';
import { absoluteMs, expiryAmount } from '../keys/expiry-time.js';
import { Decision } from './bounded-increment.js';
import { type IncrexOptions, readIncrexOptions } from './increx-options.js';

/**
 * INCREX, as in Redis 8.8: an increment that stays within bounds, with an expiry, in one step. The reply is the value
 * and the amount added. An increment that the bounds decline does not change or create the key.
 */

/** Adds the decided amount to the open key, and sets its expiry as the options ask. */
function apply({ engine }: Call, options: IncrexOptions, expiry: number): Status {
  const { appliedHigh, appliedLow } = options.increment;
  const { expiryUnit } = options;
  if (expiryUnit === undefined || (options.onlyWithoutExpiry && engine.expiresAtMs !== 0)) {
    const status = engine.add(appliedHigh, appliedLow);
    return status === Status.Ok && options.persists ? engine.persist() : status;
  }
  const expiresAtMs = absoluteMs(engine, expiryUnit, expiry);
  // The expiry has passed already: the key ends at once.
  if (expiresAtMs <= engine.nowMs) return engine.remove();
  return addExpiring(engine, appliedHigh, appliedLow, expiresAtMs);
}

export const increx = defineCommand({
  name: 'increx',
  arity: -2,
  flags: ['write', 'denyoom', 'fast'],
  keys: [1, 1, 1],
  group: 'counter',
  summary: 'Increments a counter within bounds and sets its expiration time. A key that does not exist counts from 0.',
  since: '8.8.0',
  syntax:
    'key [BYINT increment] [LBOUND lowerbound] [UBOUND upperbound] [SATURATE] ' +
    '[EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | PERSIST] [ENX]',
  run: (call) => {
    const { request, reply, engine } = call;
    const options = readIncrexOptions(call);
    if (options === undefined) return;
    let expiry = 0;
    if (options.expiryUnit !== undefined) {
      expiry = expiryAmount(call, options.expiryIndex, options.expiryUnit, 'increx');
      if (Number.isNaN(expiry)) return;
    }

    const { increment } = options;
    engine.open(request.input, request.argumentStart[1], request.argumentLength[1]);
    const decision = increment.decide(engine.valueHigh, engine.valueLow);
    const status = decision === Decision.Apply ? apply(call, options, expiry) : Status.Ok;
    engine.close();

    if (status !== Status.Ok) return reply.error(statusError(status));
    if (decision === Decision.Overflow) return reply.error(errors.appliedOverflow);
    reply.array(2);
    reply.integer64(increment.valueHigh, increment.valueLow);
    reply.integer64(increment.appliedHigh, increment.appliedLow);
  },
});
