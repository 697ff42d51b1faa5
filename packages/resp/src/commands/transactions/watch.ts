import { errors } from '../../errors/errors.js';
import { defineFamily } from '../../session/define.js';

const define = defineFamily({ flags: ['noscript', 'loading', 'stale', 'fast'], group: 'transactions', since: '2.2.0' });

/** Refused: a key may change in another region at any time, so the server cannot promise that it did not. */
export const watch = define({
  name: 'watch',
  arity: -2,
  keys: [1, -1, 1],
  summary: 'Refused: transactions here have no conditions.',
  syntax: 'key [key ...]',
  run({ client, reply }) {
    reply.error(client.transaction === undefined ? errors.noWatch : errors.watchInTransaction);
  },
});

export const unwatch = define({
  name: 'unwatch',
  arity: 1,
  summary: 'Does nothing: keys cannot be watched.',
  run({ reply }) {
    reply.ok();
  },
});
