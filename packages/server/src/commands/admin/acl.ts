import type { Command } from '../command.js';
import { DEFAULT_USER } from '../connection/credentials.js';
import { container } from '../container.js';

const aclWhoami: Command = {
  name: 'whoami',
  arity: 2,
  flags: ['noscript', 'loading', 'stale'],
  group: 'server',
  summary: 'The user of this connection: always "default".',
  since: '6.0.0',
  complexity: 'O(1)',
  syntax: '',
  run({ reply }) {
    reply.bulkText(DEFAULT_USER);
  },
};

export const acl = container({
  name: 'acl',
  group: 'server',
  summary: 'Users, of which there is one.',
  since: '6.0.0',
  subcommands: [aclWhoami],
});
