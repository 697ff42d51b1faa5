import { Status } from '@quotadb/engine';
import { errors, statusError } from '../../errors/errors.js';
import { integerArgument, integerHalves, quotedArgument } from '../../request/arguments.js';
import { defineCommand } from '../../session/define.js';

export const getset = defineCommand({
  name: 'getset',
  arity: 3,
  flags: ['write', 'denyoom', 'fast'],
  alsoReads: true,
  keys: [1, 1, 1],
  group: 'counter',
  summary: 'Sets a counter and returns the value it had.',
  since: '1.0.0',
  syntax: 'key value',
  run: ({ request, reply, engine }) => {
    if (!integerArgument(request, 2)) return reply.error(errors.valueNotAnInteger(quotedArgument(request, 2)));
    const exists = engine.open(request.input, request.argumentStart[1], request.argumentLength[1]);
    const oldHigh = engine.valueHigh;
    const oldLow = engine.valueLow;
    const status = engine.assign(integerHalves[0], integerHalves[1], false);
    engine.close();

    if (status !== Status.Ok) reply.error(statusError(status));
    else if (exists) reply.bulkInteger64(oldHigh, oldLow);
    else reply.nil();
  },
});
