import { assignExpiring, Status } from '@quotadb/engine';
import { errors, statusError } from '../../errors/errors.js';
import { integerArgument, integerHalves, quotedArgument } from '../../request/arguments.js';
import { defineCommand } from '../../session/define.js';
import { absoluteMs, expiryAmount } from '../keys/expiry-time.js';
import { readSetOptions } from './set-options.js';

const VALUE = 2;
const FIRST_OPTION = 3;

export const set = defineCommand({
  name: 'set',
  arity: -3,
  flags: ['write', 'denyoom'],
  alsoReads: (request) => readSetOptions(request, FIRST_OPTION)?.returnsOld === true,
  keys: [1, 1, 1],
  group: 'counter',
  summary: 'Sets a counter to an integer.',
  since: '1.0.0',
  syntax:
    'key value [NX | XX] [GET] ' +
    '[EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | KEEPTTL]',
  run: (call) => {
    const { request, reply, engine } = call;
    const options = readSetOptions(request, FIRST_OPTION);
    if (options === undefined) return reply.error(errors.syntax);
    const { expiryUnit } = options;
    let expiry = 0;
    if (expiryUnit !== undefined) {
      expiry = expiryAmount(call, options.expiryIndex, expiryUnit, 'set');
      if (Number.isNaN(expiry)) return;
    }
    if (!integerArgument(request, VALUE)) return reply.error(errors.valueNotAnInteger(quotedArgument(request, VALUE)));

    const exists = engine.open(request.input, request.argumentStart[1], request.argumentLength[1]);
    const oldHigh = engine.valueHigh;
    const oldLow = engine.valueLow;
    const declined = exists ? options.onlyIfMissing : options.onlyIfPresent;
    let status: Status = Status.Ok;
    if (!declined) {
      status =
        expiryUnit === undefined
          ? engine.assign(integerHalves[0], integerHalves[1], options.keepsExpiry)
          : assignExpiring(engine, integerHalves[0], integerHalves[1], absoluteMs(engine, expiryUnit, expiry));
    }
    engine.close();

    if (status !== Status.Ok) reply.error(statusError(status));
    else if (options.returnsOld && exists) reply.bulkInteger64(oldHigh, oldLow);
    else if (options.returnsOld || declined) reply.nil();
    else reply.ok();
  },
});
