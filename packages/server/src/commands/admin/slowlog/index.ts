import { errors } from '../../../errors.js';
import { numberArgument } from '../../arguments.js';
import type { Command } from '../../command.js';
import { container } from '../../container.js';

const DEFAULT_COUNT = 10;

const slowlogGet: Command = {
  name: 'get',
  arity: -2,
  flags: ['admin', 'loading', 'stale'],
  group: 'server',
  summary: 'The newest slow commands: id, time, microseconds, arguments, client address, client name.',
  since: '2.2.12',
  complexity: 'O(N) where N is the number of entries returned',
  syntax: '[count]',
  run({ request, server, reply }) {
    if (request.argumentCount > 3) {
      reply.error(errors.wrongArity('slowlog|get'));
      return;
    }
    const count = request.argumentCount === 3 ? numberArgument(request, 2) : DEFAULT_COUNT;
    if (!(count >= -1)) {
      reply.error(errors.slowlogCount);
      return;
    }
    const entries = server.slowlog.newest(count === -1 ? server.slowlog.length : count);
    reply.array(entries.length);
    for (const entry of entries) {
      reply.array(6);
      reply.integer(entry.id);
      reply.integer(entry.atSeconds);
      reply.integer(entry.microseconds);
      reply.array(entry.words.length);
      for (const word of entry.words) reply.bulk(word, 0, word.length);
      reply.bulkText(entry.address);
      reply.bulkText(entry.clientName);
    }
  },
};

const slowlogLen: Command = {
  name: 'len',
  arity: 2,
  flags: ['admin', 'loading', 'stale'],
  group: 'server',
  summary: 'How many slow commands are kept.',
  since: '2.2.12',
  complexity: 'O(1)',
  syntax: '',
  run({ server, reply }) {
    reply.integer(server.slowlog.length);
  },
};

const slowlogReset: Command = {
  name: 'reset',
  arity: 2,
  flags: ['admin', 'loading', 'stale'],
  group: 'server',
  summary: 'Forgets the slow commands.',
  since: '2.2.12',
  complexity: 'O(1)',
  syntax: '',
  run({ server, reply }) {
    server.slowlog.reset();
    reply.ok();
  },
};

export const slowlog = container({
  name: 'slowlog',
  group: 'server',
  summary: 'Commands that took long.',
  since: '2.2.12',
  subcommands: [slowlogGet, slowlogLen, slowlogReset],
});
