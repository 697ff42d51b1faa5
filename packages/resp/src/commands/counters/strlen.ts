import { joinInt64 } from '@quotadb/engine';
import { defineCommand } from '../../session/define.js';

export const strlen = defineCommand({
  name: 'strlen',
  arity: 2,
  flags: ['readonly', 'fast'],
  keys: [1, 1, 1],
  group: 'counter',
  summary: 'Returns the length of a value in decimal digits, its sign included.',
  since: '2.2.0',
  syntax: 'key',
  run: ({ request, reply, engine }) => {
    const exists = engine.open(request.input, request.argumentStart[1], request.argumentLength[1]);
    const { valueHigh, valueLow } = engine;
    engine.close();
    reply.integer(exists ? String(joinInt64(valueHigh, valueLow)).length : 0);
  },
});
