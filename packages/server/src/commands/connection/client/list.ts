import { errors } from '../../../errors.js';
import type { Client } from '../../../session/client.js';
import { argumentIs, keyword, numberArgument, textArgument } from '../../arguments.js';
import type { Call, Command } from '../../command.js';
import { describeClient } from './describe.js';
import { typeIsNormal } from './types.js';

const TYPE = keyword('type');
const ID = keyword('id');

export const clientInfo: Command = {
  name: 'info',
  arity: 2,
  flags: ['noscript', 'loading', 'stale'],
  group: 'connection',
  summary: 'What is known of this connection.',
  since: '6.2.0',
  complexity: 'O(1)',
  syntax: '',
  run({ client, server, reply }) {
    reply.verbatim(`${describeClient(client, server.clock.now())}\n`);
  },
};

export const clientList: Command = {
  name: 'list',
  arity: -2,
  flags: ['admin', 'noscript', 'loading', 'stale'],
  group: 'connection',
  summary: 'What is known of all connections, or of some.',
  since: '2.4.0',
  complexity: 'O(N) where N is the number of connections',
  syntax: '[TYPE <NORMAL | MASTER | REPLICA | PUBSUB>] [ID client-id [client-id ...]]',
  run(call) {
    const { server, reply } = call;
    const chosen = choose(call);
    if (typeof chosen === 'string') {
      reply.error(chosen);
      return;
    }
    const nowMs = server.clock.now();
    reply.verbatim(chosen.map((client) => `${describeClient(client, nowMs)}\n`).join(''));
  },
};

function choose({ request, server }: Call): Client[] | string {
  const { clients } = server;
  if (request.argumentCount === 2) return [...clients];
  if (request.argumentCount === 4 && argumentIs(request, 2, TYPE)) {
    const type = textArgument(request, 3);
    const normal = typeIsNormal(type);
    if (normal === undefined) return errors.clientTypeUnknown(type);
    return normal ? [...clients] : [];
  }
  if (request.argumentCount > 3 && argumentIs(request, 2, ID)) {
    const ids = new Set<number>();
    for (let index = 3; index < request.argumentCount; index++) {
      const id = numberArgument(request, index);
      if (!(id >= 1)) return errors.clientIdInvalid;
      ids.add(id);
    }
    return [...clients].filter((client) => ids.has(client.id));
  }
  return errors.syntax;
}
