import { defineCommand } from '../../session/define.js';

export const reset = defineCommand({
  name: 'reset',
  arity: 1,
  flags: ['noscript', 'loading', 'stale', 'fast', 'no_auth'],
  group: 'connection',
  summary: 'Resets the connection: RESP2, no name, no transaction, no MONITOR, database 0, not authenticated.',
  since: '6.2.0',
  run({ client, server, reply }) {
    client.reset(server.access.newcomer());
    reply.protocol = client.protocol;
    reply.simple('RESET');
  },
});
