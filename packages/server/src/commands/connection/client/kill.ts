import type { Request } from '@quotadb/wire';
import { errors } from '../../../errors.js';
import type { Client } from '../../../session/client.js';
import { numberArgument, textArgument } from '../../arguments.js';
import type { Call, Command } from '../../command.js';
import { DEFAULT_USER } from '../credentials.js';
import { typeIsNormal } from './types.js';

export const clientKill: Command = {
  name: 'kill',
  arity: -3,
  flags: ['admin', 'noscript', 'loading', 'stale'],
  group: 'connection',
  summary: 'Closes connections.',
  since: '2.4.0',
  complexity: 'O(N) where N is the number of connections',
  syntax:
    '<ip:port | [ID client-id] [TYPE <NORMAL | MASTER | REPLICA | PUBSUB>] [USER username] [ADDR ip:port] [LADDR ip:port] [SKIPME <YES | NO>] [MAXAGE seconds]>',
  run(call) {
    const { request, reply } = call;
    if (request.argumentCount === 3) {
      const address = textArgument(request, 2);
      if (kill(call, { matches: (client) => client.address === address, skipMe: false }) === 0) {
        reply.error(errors.noSuchClient);
      } else {
        reply.ok();
      }
      return;
    }
    const filter = readFilter(call);
    if (typeof filter === 'string') reply.error(filter);
    else reply.integer(kill(call, filter));
  },
};

interface Filter {
  readonly matches: (client: Client) => boolean;
  readonly skipMe: boolean;
}

function kill({ client: caller, server }: Call, filter: Filter): number {
  let killed = 0;
  for (const client of [...server.clients]) {
    if ((filter.skipMe && client === caller) || !filter.matches(client)) continue;
    killed++;
    // The caller must still get its answer.
    if (client === caller) client.closing = true;
    else client.connection.destroy();
  }
  return killed;
}

function readFilter({ request, server }: Call): Filter | string {
  const conditions: ((client: Client) => boolean)[] = [];
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
    const condition = readCondition(option, request, index + 1, server.clock.now());
    if (typeof condition === 'string') return condition;
    conditions.push(condition);
  }
  return { matches: (client) => conditions.every((condition) => condition(client)), skipMe };
}

function readCondition(
  option: string,
  request: Request,
  index: number,
  nowMs: number,
): ((client: Client) => boolean) | string {
  const value = textArgument(request, index);
  switch (option) {
    case 'id': {
      const id = numberArgument(request, index);
      return id >= 1 ? (client) => client.id === id : errors.clientIdNotPositive;
    }
    case 'addr':
      return (client) => client.address === value;
    case 'laddr':
      return (client) => client.localAddress === value;
    case 'type': {
      const normal = typeIsNormal(value);
      return normal === undefined ? errors.clientTypeUnknown(value) : () => normal;
    }
    case 'user':
      return value === DEFAULT_USER ? (client) => client.authenticated : errors.noSuchUser(value);
    case 'maxage': {
      const ageSeconds = numberArgument(request, index);
      return ageSeconds >= 1 ? (client) => nowMs - client.connectedAtMs >= ageSeconds * 1000 : errors.notAnInteger;
    }
    default:
      return errors.syntax;
  }
}
