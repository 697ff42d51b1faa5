import { errors } from '../../errors/errors.js';
import { defineCommand } from '../../session/define.js';

/** Refused by name, with the code of a value that is no integer: an unknown command says nothing of the reason. */
export const incrbyfloat = defineCommand({
  name: 'incrbyfloat',
  arity: 3,
  flags: ['write', 'denyoom', 'fast'],
  keys: [1, 1, 1],
  group: 'counter',
  summary: 'Refused: counters hold integers. Count in the smallest unit.',
  since: '2.6.0',
  syntax: 'key increment',
  run: ({ reply }) => reply.error(errors.noFloats('INCRBYFLOAT')),
});
