import { errors } from '../../errors/errors.js';
import { numberArgument } from '../../request/arguments.js';
import { NO_DATABASE } from '../../session/client.js';
import { defineCommand } from '../../session/define.js';

export const select = defineCommand({
  name: 'select',
  arity: 2,
  flags: ['loading', 'stale', 'fast'],
  group: 'connection',
  summary:
    'Chooses the database, of as many as --databases says. After one that is not there, the connection touches no ' +
    'keys until it chooses another.',
  since: '1.0.0',
  syntax: 'index',
  run({ request, client, server, reply }) {
    const { databases } = server.config;
    const database = numberArgument(request, 1);
    if (Number.isNaN(database)) return reply.error(errors.notAnInteger);
    const isThere = database >= 0 && database < databases;
    client.database = isThere ? database : NO_DATABASE;
    if (isThere) reply.ok();
    else reply.error(errors.noDatabase(database, databases));
  },
});
