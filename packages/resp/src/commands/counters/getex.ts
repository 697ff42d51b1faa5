import { Status } from '@quotadb/engine';
import { errors, statusError } from '../../errors/errors.js';
import type { Call } from '../../session/command.js';
import { defineCommand } from '../../session/define.js';
import { absoluteMs, expiryAmount } from '../keys/expiry-time.js';
import { readGetexOptions, type SetOptions } from './set-options.js';

const FIRST_OPTION = 2;

/** Changes the expiry of the open key as the options ask; undefined after an error reply. */
function changeExpiry(call: Call, options: SetOptions): Status | undefined {
  const { engine } = call;
  if (options.persists) return engine.persist();
  if (options.expiryUnit === undefined) return Status.Ok;
  const expiry = expiryAmount(call, options.expiryIndex, options.expiryUnit, 'getex');
  if (Number.isNaN(expiry)) return undefined;
  return engine.expireAt(absoluteMs(engine, options.expiryUnit, expiry));
}

export const getex = defineCommand({
  name: 'getex',
  arity: -2,
  flags: ['write', 'fast'],
  alsoReads: true,
  keys: [1, 1, 1],
  group: 'counter',
  summary: 'Returns the value of a counter and sets or removes its expiration time.',
  since: '6.2.0',
  syntax: 'key [EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | PERSIST]',
  run: (call) => {
    const { request, reply, engine } = call;
    const options = readGetexOptions(request, FIRST_OPTION);
    if (options === undefined) return reply.error(errors.syntax);
    const exists = engine.open(request.input, request.argumentStart[1], request.argumentLength[1]);
    const high = engine.valueHigh;
    const low = engine.valueLow;
    // As in Redis, the expiry argument of a missing key is not even parsed.
    const status = exists ? changeExpiry(call, options) : Status.Ok;
    engine.close();

    if (status === undefined) return;
    if (status !== Status.Ok) reply.error(statusError(status));
    else if (exists) reply.bulkInteger64(high, low);
    else reply.nil();
  },
});
