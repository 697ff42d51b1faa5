import { defineCommand } from '../../session/define.js';

export const echo = defineCommand({
  name: 'echo',
  arity: 2,
  flags: ['loading', 'stale', 'fast'],
  group: 'connection',
  summary: 'Returns the message.',
  since: '1.0.0',
  syntax: 'message',
  run({ request, reply }) {
    reply.bulk(request.input.bytes, request.argumentStart[1], request.argumentLength[1]);
  },
});
