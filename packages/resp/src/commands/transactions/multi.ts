import { errors } from '../../errors/errors.js';
import { defineCommand } from '../../session/define.js';
import { Transaction } from '../../session/transaction.js';

export const multi = defineCommand({
  name: 'multi',
  arity: 1,
  flags: ['noscript', 'loading', 'stale', 'fast', 'allow_busy'],
  group: 'transactions',
  summary: 'Starts a transaction: the commands that follow are kept until EXEC.',
  since: '1.2.0',
  run({ client, reply }) {
    if (client.transaction !== undefined) return reply.error(errors.nestedTransaction);
    client.transaction = new Transaction();
    reply.ok();
  },
});
