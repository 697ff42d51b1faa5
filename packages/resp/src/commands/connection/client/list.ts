import { errors } from '../../../errors/errors.js';
import { askLanes } from '../../../questions/ask-lanes.js';
import { describeClient } from '../../../questions/describe-client.js';
import { argumentIs, keyword, numberArgument, textArgument } from '../../../request/arguments.js';
import type { Call } from '../../../session/command.js';
import { defineCommand } from '../../../session/define.js';
import type { ClientFilter } from '../../../session/questions.js';

const TYPE = keyword('type');
const ID = keyword('id');

export const clientInfo = defineCommand({
  name: 'info',
  arity: 2,
  flags: ['noscript', 'loading', 'stale'],
  group: 'connection',
  summary: 'The state of this connection.',
  since: '6.2.0',
  run({ client, server, reply }) {
    reply.verbatim(`${describeClient(client, server.clock.now())}\n`);
  },
});

export const clientList = defineCommand({
  name: 'list',
  arity: -2,
  flags: ['admin', 'noscript', 'loading', 'stale'],
  group: 'connection',
  summary: 'The state of all connections, or of some.',
  since: '2.4.0',
  complexity: 'O(N) where N is the number of connections',
  syntax: '[TYPE <NORMAL | MASTER | REPLICA | PUBSUB>] [ID client-id [client-id ...]]',
  run(call) {
    const filter = readFilter(call);
    if (typeof filter === 'string') return call.reply.error(filter);
    askLanes(call, 'clients', filter, ({ reply }, lanes) => {
      const clients = lanes.flat().sort((a, b) => a.id - b.id);
      reply.verbatim(clients.map(({ line }) => `${line}\n`).join(''));
    });
  },
});

function readFilter({ request }: Call): ClientFilter | string {
  if (request.argumentCount === 2) return {};
  if (request.argumentCount === 4 && argumentIs(request, 2, TYPE)) {
    const type = textArgument(request, 3);
    const normal = typeIsNormal(type);
    return normal === undefined ? errors.clientTypeUnknown(type) : { none: !normal };
  }
  if (request.argumentCount > 3 && argumentIs(request, 2, ID)) {
    const ids = new Set<number>();
    for (let index = 3; index < request.argumentCount; index++) {
      const id = numberArgument(request, index);
      if (!(id >= 1)) return errors.clientIdInvalid;
      ids.add(id);
    }
    return { ids };
  }
  return errors.syntax;
}

/** The types of clients in Redis; QuotaDB has normal ones only. */
const CLIENT_TYPES: ReadonlySet<string> = new Set(['normal', 'master', 'slave', 'replica', 'pubsub']);

/** Whether this is the type that QuotaDB's clients have; undefined for a type that Redis has not either. */
export function typeIsNormal(type: string): boolean | undefined {
  const name = type.toLowerCase();
  return CLIENT_TYPES.has(name) ? name === 'normal' : undefined;
}
