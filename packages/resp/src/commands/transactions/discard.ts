import { errors } from '../../errors/errors.js';
import { defineCommand } from '../../session/define.js';

export const discard = defineCommand({
  name: 'discard',
  arity: 1,
  flags: ['noscript', 'loading', 'stale', 'fast', 'allow_busy'],
  group: 'transactions',
  summary: 'Drops a transaction.',
  since: '2.0.0',
  run({ client, reply }) {
    if (client.transaction === undefined) return reply.error(errors.noTransaction('DISCARD'));
    client.transaction = undefined;
    reply.ok();
  },
});
