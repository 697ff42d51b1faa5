import { errors } from '../../errors/errors.js';
import type { Command } from '../../session/command.js';
import { Transaction } from '../../session/transaction.js';

export const multi: Command = {
  name: 'multi',
  arity: 1,
  flags: ['noscript', 'loading', 'stale', 'fast'],
  group: 'transactions',
  summary: 'Starts a transaction: the commands that follow are kept until EXEC.',
  since: '1.2.0',
  complexity: 'O(1)',
  syntax: '',
  run({ client, reply }) {
    if (client.transaction !== undefined) {
      reply.error(errors.nestedTransaction);
      return;
    }
    client.transaction = new Transaction();
    reply.ok();
  },
};
