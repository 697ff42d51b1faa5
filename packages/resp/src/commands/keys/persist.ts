import { Status } from '@quotadb/engine';
import { statusError } from '../../errors/errors.js';
import { defineCommand } from '../../session/define.js';

export const persist = defineCommand({
  name: 'persist',
  arity: 2,
  flags: ['write', 'fast'],
  keys: [1, 1, 1],
  group: 'generic',
  summary: 'Removes the expiration time of a key.',
  since: '2.2.0',
  syntax: 'key',
  run: ({ request, reply, engine }) => {
    let status: Status = Status.Ok;
    engine.open(request.input, request.argumentStart[1], request.argumentLength[1]);
    const hadExpiry = engine.expiresAtMs !== 0;
    if (hadExpiry) status = engine.persist();
    engine.close();

    if (status !== Status.Ok) reply.error(statusError(status));
    else reply.integer(hadExpiry ? 1 : 0);
  },
});
