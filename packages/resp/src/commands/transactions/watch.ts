import { errors } from '../../errors/errors.js';
import type { Command } from '../../session/command.js';

/** Refused: a key may change on another region at any time, so a promise that it did not would be worth nothing. */
export const watch: Command = {
  name: 'watch',
  arity: -2,
  flags: ['noscript', 'loading', 'stale', 'fast'],
  keys: [1, -1, 1],
  group: 'transactions',
  summary: 'Refused: transactions here have no conditions.',
  since: '2.2.0',
  complexity: 'O(1)',
  syntax: 'key [key ...]',
  run({ client, reply }) {
    reply.error(client.transaction === undefined ? errors.noWatch : errors.watchInTransaction);
  },
};

export const unwatch: Command = {
  name: 'unwatch',
  arity: 1,
  flags: ['noscript', 'loading', 'stale', 'fast'],
  group: 'transactions',
  summary: 'Does nothing, since nothing can be watched.',
  since: '2.2.0',
  complexity: 'O(1)',
  syntax: '',
  run({ reply }) {
    reply.ok();
  },
};
