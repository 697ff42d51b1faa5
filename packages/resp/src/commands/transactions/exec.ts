import { errors } from '../../errors/errors.js';
import type { Command } from '../../session/command.js';

/** Nothing else on this node runs in between: the whole store is locked for as long as the commands take. */
export const exec: Command = {
  name: 'exec',
  arity: 1,
  flags: ['noscript', 'loading', 'stale'],
  group: 'transactions',
  summary: 'Runs the commands of a transaction, with no other client in between.',
  since: '1.2.0',
  complexity: 'Depends on commands in the transaction',
  syntax: '',
  run(call) {
    const { client, reply, engine } = call;
    const { transaction } = client;
    if (transaction === undefined) {
      reply.error(errors.noTransaction('EXEC'));
      return;
    }
    client.transaction = undefined;
    if (transaction.broken) {
      reply.error(errors.transactionBroken);
      return;
    }
    reply.array(transaction.commands.length);
    engine.lockAll();
    try {
      call.runQueued(transaction.commands);
    } finally {
      engine.unlock();
    }
  },
};
