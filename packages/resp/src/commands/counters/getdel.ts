import { Status } from '@quotadb/engine';
import { statusError } from '../../errors/errors.js';
import { defineCommand } from '../../session/define.js';

export const getdel = defineCommand({
  name: 'getdel',
  arity: 2,
  flags: ['write', 'fast'],
  alsoReads: true,
  keys: [1, 1, 1],
  group: 'counter',
  summary: 'Returns the value of a counter and deletes it.',
  since: '6.2.0',
  syntax: 'key',
  run: ({ request, reply, engine }) => {
    let status: Status = Status.Ok;
    const exists = engine.open(request.input, request.argumentStart[1], request.argumentLength[1]);
    const oldHigh = engine.valueHigh;
    const oldLow = engine.valueLow;
    if (exists) status = engine.remove();
    engine.close();

    if (status !== Status.Ok) reply.error(statusError(status));
    else if (exists) reply.bulkInteger64(oldHigh, oldLow);
    else reply.nil();
  },
});
