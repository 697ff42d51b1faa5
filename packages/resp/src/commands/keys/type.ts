import { defineCommand } from '../../session/define.js';

/** Redis's type of a counter. */
export const TYPE_NAME = 'string';

export const type = defineCommand({
  name: 'type',
  arity: 2,
  flags: ['readonly', 'fast'],
  keys: [1, 1, 1],
  group: 'generic',
  summary: 'Returns the type of a key: string for a counter, none where there is no key.',
  since: '1.0.0',
  syntax: 'key',
  run: ({ request, reply, engine }) => {
    const exists = engine.open(request.input, request.argumentStart[1], request.argumentLength[1]);
    engine.close();
    reply.simple(exists ? TYPE_NAME : 'none');
  },
});
