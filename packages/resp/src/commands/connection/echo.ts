import type { Command } from '../../session/command.js';

export const echo: Command = {
  name: 'echo',
  arity: 2,
  flags: ['loading', 'stale', 'fast'],
  group: 'connection',
  summary: 'Answers with the message.',
  since: '1.0.0',
  complexity: 'O(1)',
  syntax: 'message',
  run({ request, reply }) {
    reply.bulk(request.input.bytes, request.argumentStart[1], request.argumentLength[1]);
  },
};
