import { errors } from '../../errors/errors.js';
import { numberArgument } from '../../request/arguments.js';
import { defineCommand } from '../../session/define.js';

/** There is one database, as in a Redis cluster. */
export const select = defineCommand({
  name: 'select',
  arity: 2,
  flags: ['loading', 'stale', 'fast'],
  group: 'connection',
  summary: 'Chooses the database; there is only database 0.',
  since: '1.0.0',
  syntax: 'index',
  run({ request, reply }) {
    const database = numberArgument(request, 1);
    if (Number.isNaN(database)) reply.error(errors.notAnInteger);
    else if (database !== 0) reply.error(errors.databaseOutOfRange);
    else reply.ok();
  },
});
