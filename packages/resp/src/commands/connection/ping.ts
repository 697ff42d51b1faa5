import { errors } from '../../errors/errors.js';
import { defineCommand } from '../../session/define.js';

export const ping = defineCommand({
  name: 'ping',
  arity: -1,
  flags: ['fast'],
  group: 'connection',
  summary: 'Returns PONG, or the message.',
  since: '1.0.0',
  syntax: '[message]',
  run({ client, request, reply, server }) {
    if (client.isNode && server.cluster?.isCopying) reply.error(errors.copying);
    else if (request.argumentCount === 1) reply.simple('PONG');
    else if (request.argumentCount === 2)
      reply.bulk(request.input.bytes, request.argumentStart[1], request.argumentLength[1]);
    else reply.error(errors.wrongArity('ping'));
  },
});
