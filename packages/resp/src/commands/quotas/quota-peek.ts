import { MAXIMUM_SUBJECT_BYTES, type Standing, SUBJECT_TOO_LONG } from '@quotadb/quota';
import type { ReplyWriter } from '@quotadb/wire';
import { errors } from '../../errors/errors.js';
import { copyArgument, textArgument } from '../../request/arguments.js';
import { defineCommand } from '../../session/define.js';
import { askQuotas } from './ask-quotas.js';

export const quotaPeek = defineCommand({
  name: 'quota.peek',
  arity: 3,
  flags: ['readonly', 'fast'],
  role: 'quota',
  keys: [2, 2, 1],
  group: 'quota',
  summary:
    'Reads a quota and takes nothing. Returns tokens remaining here, tokens remaining in all regions as far as this ' +
    'one knows, and the milliseconds until the window ends.',
  since: '0.2.0',
  syntax: 'name subject',
  run(call) {
    const { request, reply, server, engine } = call;
    const { bytes } = request.input;
    const length = request.argumentLength[2];
    const policy = server.quotas.policies.find(bytes, request.argumentStart[1], request.argumentLength[1]);
    if (length > MAXIMUM_SUBJECT_BYTES) {
      reply.error(errors.quota(SUBJECT_TOO_LONG));
    } else if (policy !== undefined) {
      const taker = server.quotas.taker(engine);
      taker.peek(policy, bytes, request.argumentStart[2], length);
      writePeek(reply, taker);
    } else {
      const name = textArgument(request, 1);
      askQuotas(call, { kind: 'peek', name, subject: copyArgument(request, 2) }, (resumed, standing: Standing) =>
        writePeek(resumed.reply, standing),
      );
    }
  },
});

function writePeek(reply: ReplyWriter, standing: Standing): void {
  reply.array(3);
  reply.integer(standing.remainingHere);
  reply.integer(standing.remainingEverywhere);
  reply.integer(standing.resetMs);
}
