import { defineCommand } from '../../session/define.js';

export const quit = defineCommand({
  name: 'quit',
  arity: -1,
  flags: ['noscript', 'loading', 'stale', 'fast', 'no_auth'],
  group: 'connection',
  summary: 'Closes the connection.',
  since: '1.0.0',
  run({ client, reply }) {
    reply.ok();
    client.closing = true;
  },
});
