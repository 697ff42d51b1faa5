import type { Command } from '../../session/command.js';

export const dbsize: Command = {
  name: 'dbsize',
  arity: 1,
  flags: ['readonly', 'fast'],
  group: 'server',
  summary: 'Returns the number of keys.',
  since: '1.0.0',
  complexity: 'O(1)',
  syntax: '',
  run: ({ reply, engine }) => reply.integer(engine.keyCount()),
};
