import { Status } from '@quotadb/engine';
import { errors, statusError } from '../../errors/errors.js';
import { integerArgument, integerHalves, quotedArgument } from '../../request/arguments.js';
import { defineCommand } from '../../session/define.js';

export const setnx = defineCommand({
  name: 'setnx',
  arity: 3,
  flags: ['write', 'denyoom', 'fast'],
  keys: [1, 1, 1],
  group: 'counter',
  summary: 'Sets a counter only where the key does not exist.',
  since: '1.0.0',
  syntax: 'key value',
  run: ({ request, reply, engine }) => {
    if (!integerArgument(request, 2)) return reply.error(errors.valueNotAnInteger(quotedArgument(request, 2)));
    let status: Status = Status.Ok;
    const exists = engine.open(request.input, request.argumentStart[1], request.argumentLength[1]);
    if (!exists) status = engine.assign(integerHalves[0], integerHalves[1], false);
    engine.close();

    if (status !== Status.Ok) reply.error(statusError(status));
    else reply.integer(exists ? 0 : 1);
  },
});
