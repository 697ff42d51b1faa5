import { errors } from '../../errors/errors.js';
import type { Command } from '../../session/command.js';

export const discard: Command = {
  name: 'discard',
  arity: 1,
  flags: ['noscript', 'loading', 'stale', 'fast'],
  group: 'transactions',
  summary: 'Drops a transaction.',
  since: '2.0.0',
  complexity: 'O(1)',
  syntax: '',
  run({ client, reply }) {
    if (client.transaction === undefined) {
      reply.error(errors.noTransaction('DISCARD'));
      return;
    }
    client.transaction = undefined;
    reply.ok();
  },
};
