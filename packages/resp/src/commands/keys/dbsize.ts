import { defineCommand } from '../../session/define.js';

export const dbsize = defineCommand({
  name: 'dbsize',
  arity: 1,
  flags: ['readonly', 'fast'],
  group: 'server',
  summary: 'Returns the number of keys in the database; cells of windows and limits count in database 0.',
  since: '1.0.0',
  run: ({ reply, engine, client }) => reply.integer(engine.databaseStats(client.database).keys),
});
