import { MAXIMUM_ITEMS, type Standing } from '@quotadb/quota';
import { errors } from '../../errors/errors.js';
import { copyArgument, numberArgument, quotedArgument, textArgument } from '../../request/arguments.js';
import { defineCommand } from '../../session/define.js';
import { askQuotas } from './ask-quotas.js';
import { writeStanding } from './quota-take.js';
import { readOptions } from './take-options.js';

export const quotaTakeAll = defineCommand({
  name: 'quota.takeall',
  arity: -5,
  flags: ['write', 'denyoom', 'noscript', 'movablekeys'],
  role: 'quota',
  keyCountAt: 1,
  countedKeys: [3, 3],
  group: 'quota',
  summary:
    'Takes from several quotas, from all of them or from none. Returns allowed (1 or 0), and the reply of ' +
    'QUOTA.TAKE for each quota.',
  since: '0.2.0',
  complexity: 'O(N) in the number of quotas',
  syntax: `count name subject cost [name subject cost …] [WAIT duration] [ID token]`,
  run(call) {
    const { request, reply } = call;
    const count = numberArgument(request, 1);
    if (!(count >= 1 && count <= MAXIMUM_ITEMS)) {
      const given = quotedArgument(request, 1);
      reply.error(
        errors.quota(`count is out of range: 1 to ${MAXIMUM_ITEMS} quotas can be taken from at once, not ${given}`),
      );
      return;
    }
    const end = 2 + 3 * count;
    const isShort = request.argumentCount < end;
    const options = isShort ? errors.itemsMissing(count, request.argumentCount - 2) : readOptions(request, end);
    if (typeof options === 'string') return reply.error(options);
    const items = Array.from({ length: count }, (_, index) => ({
      name: textArgument(request, 2 + 3 * index),
      subject: copyArgument(request, 3 + 3 * index),
      cost: numberArgument(request, 4 + 3 * index),
    }));
    askQuotas(call, { kind: 'take', items, ...options }, (resumed, answer: Taken) => {
      resumed.reply.array(1 + answer.standings.length);
      resumed.reply.integer(answer.isAllowed ? 1 : 0);
      for (const standing of answer.standings) writeStanding(resumed.reply, answer.isAllowed, standing);
    });
  },
});

interface Taken {
  readonly isAllowed: boolean;
  readonly standings: readonly Standing[];
}
