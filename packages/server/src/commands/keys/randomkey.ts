import type { Command } from '../command.js';

export const randomkey: Command = {
  name: 'randomkey',
  arity: 1,
  flags: ['readonly'],
  group: 'generic',
  summary: 'Returns a random key.',
  since: '1.0.0',
  complexity: 'O(1)',
  syntax: '',
  run: ({ reply, engine }) => {
    const key = engine.randomKey(Math.random());
    if (key === undefined) reply.nil();
    else reply.bulk(key, 0, key.length);
  },
};
