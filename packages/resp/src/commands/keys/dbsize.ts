import { defineCommand } from '../../session/define.js';

export const dbsize = defineCommand({
  name: 'dbsize',
  arity: 1,
  flags: ['readonly', 'fast'],
  group: 'server',
  summary: 'Returns the number of keys.',
  since: '1.0.0',
  run: ({ reply, engine }) => reply.integer(engine.keyCount()),
});
