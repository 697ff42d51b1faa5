import { errors } from '../../errors/errors.js';
import { defineCommand } from '../../session/define.js';

/** No other command of this node runs in between: the whole store is locked while the commands run. */
export const exec = defineCommand({
  name: 'exec',
  arity: 1,
  flags: ['noscript', 'loading', 'stale'],
  group: 'transactions',
  summary: 'Runs the commands of a transaction, with no other client in between.',
  since: '1.2.0',
  complexity: 'Depends on commands in the transaction',
  run(call) {
    const { client, reply, engine } = call;
    const { transaction } = client;
    if (transaction === undefined) return reply.error(errors.noTransaction('EXEC'));
    client.transaction = undefined;
    if (transaction.broken) return reply.error(errors.transactionBroken);
    reply.array(transaction.commands.length);
    engine.lockAll();
    try {
      call.runQueued(transaction.commands);
    } finally {
      engine.unlock();
    }
  },
});
