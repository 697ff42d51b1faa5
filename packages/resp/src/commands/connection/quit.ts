import type { Command } from '../../session/command.js';

export const quit: Command = {
  name: 'quit',
  arity: -1,
  flags: ['noscript', 'loading', 'stale', 'fast', 'no_auth'],
  group: 'connection',
  summary: 'Closes the connection.',
  since: '1.0.0',
  complexity: 'O(1)',
  syntax: '',
  run({ client, reply }) {
    reply.ok();
    client.closing = true;
  },
};
