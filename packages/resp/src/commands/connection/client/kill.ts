import { errors } from '../../../errors/errors.js';
import { isMeant } from '../../../questions/answers.js';
import { askLanes } from '../../../questions/ask-lanes.js';
import { numberArgument, textArgument } from '../../../request/arguments.js';
import type { Call } from '../../../session/command.js';
import { defineCommand } from '../../../session/define.js';
import type { ClientFilter } from '../../../session/questions.js';
import { typeIsNormal } from './list.js';

export const clientKill = defineCommand({
  name: 'kill',
  arity: -3,
  flags: ['admin', 'noscript', 'loading', 'stale'],
  group: 'connection',
  summary: 'Closes connections.',
  since: '2.4.0',
  complexity: 'O(N) where N is the number of connections',
  syntax:
    '<ip:port | [ID client-id] [TYPE <NORMAL | MASTER | REPLICA | PUBSUB>] [USER username] [ADDR ip:port] ' +
    '[LADDR ip:port] [SKIPME <YES | NO>] [MAXAGE seconds]>',
  run(call) {
    const { request, reply } = call;
    if (request.argumentCount === 3) {
      kill(call, { address: textArgument(request, 2) }, false, ({ reply }, killed) => {
        if (killed === 0) reply.error(errors.noSuchClient);
        else reply.ok();
      });
      return;
    }
    const order = readOrder(call);
    if (typeof order === 'string') reply.error(order);
    else kill(call, order.filter, order.skipMe, ({ reply }, killed) => reply.integer(killed));
  },
});

/** The caller's own connection is closed last, after its reply. */
function kill(call: Call, filter: ClientFilter, skipMe: boolean, answer: (call: Call, killed: number) => void): void {
  const { client } = call;
  const isCallerMeant = !skipMe && isMeant(client, filter);
  askLanes(call, 'kill', { ...filter, except: client.id }, (resumed, lanes) => {
    const others = lanes.reduce((sum, killed) => sum + killed, 0);
    answer(resumed, others + (isCallerMeant ? 1 : 0));
    if (isCallerMeant) client.closing = true;
  });
}

interface Order {
  readonly filter: ClientFilter;
  readonly skipMe: boolean;
}

function readOrder(call: Call): Order | string {
  const { request } = call;
  let filter: ClientFilter = {};
  let skipMe = true;
  for (let index = 2; index < request.argumentCount; index += 2) {
    if (index + 1 === request.argumentCount) return errors.syntax;
    const option = textArgument(request, index).toLowerCase();
    if (option === 'skipme') {
      const answer = textArgument(request, index + 1).toLowerCase();
      if (answer !== 'yes' && answer !== 'no') return errors.syntax;
      skipMe = answer === 'yes';
      continue;
    }
    const condition = readCondition(option, call, index + 1);
    if (typeof condition === 'string') return condition;
    filter = { ...filter, ...condition };
  }
  return { filter, skipMe };
}

function readCondition(option: string, { request, server }: Call, index: number): ClientFilter | string {
  const value = textArgument(request, index);
  switch (option) {
    case 'id': {
      const id = numberArgument(request, index);
      return id >= 1 ? { ids: new Set([id]) } : errors.clientIdNotPositive;
    }
    case 'addr':
      return { address: value };
    case 'laddr':
      return { localAddress: value };
    case 'type': {
      const normal = typeIsNormal(value);
      return normal === undefined ? errors.clientTypeUnknown(value) : { none: !normal };
    }
    case 'user':
      return server.access.names().includes(value) ? { user: value } : errors.noSuchUser(value);
    case 'maxage': {
      const ageSeconds = numberArgument(request, index);
      return ageSeconds >= 1 ? { connectedBeforeMs: server.clock.now() - ageSeconds * 1000 } : errors.notAnInteger;
    }
    default:
      return errors.syntax;
  }
}
