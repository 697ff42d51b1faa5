import { REDIS_VERSION } from '@quotadb/config';
import type { Request } from '@quotadb/wire';
import { errors } from '../../errors/errors.js';
import { replyField } from '../../reply/values.js';
import { argumentIs, bytesArgument, keyword, numberArgument, textArgument } from '../../request/arguments.js';
import { nameMistake } from '../../session/client.js';
import type { Call } from '../../session/command.js';
import { defineCommand } from '../../session/define.js';
import { logIn } from '../../session/log-in.js';

const AUTH = keyword('auth');
const SETNAME = keyword('setname');

export const hello = defineCommand({
  name: 'hello',
  arity: -1,
  flags: ['noscript', 'loading', 'stale', 'fast', 'no_auth'],
  group: 'connection',
  summary: 'Chooses RESP2 or RESP3, authenticates and names the connection, and describes the server.',
  since: '6.0.0',
  secretsFrom: 2,
  syntax: '[protover [AUTH username password] [SETNAME clientname]]',
  run(call) {
    const { request, client, reply } = call;
    let protocol: number = client.protocol;
    if (request.argumentCount > 1) {
      protocol = numberArgument(request, 1);
      if (Number.isNaN(protocol)) return reply.error(errors.namedNotAnInteger('Protocol version'));
      if (protocol !== 2 && protocol !== 3) return reply.error(errors.unsupportedProtocol);
    }
    const options = readOptions(request);
    if (typeof options === 'string') return reply.error(options);
    if (options.credentialsAt > 0) {
      const name = textArgument(request, options.credentialsAt);
      const password = bytesArgument(request, options.credentialsAt + 1);
      logIn(call, name, password, (admitted) => greet(admitted, protocol, options.name));
    } else if (client.authenticated) {
      greet(call, protocol, options.name);
    } else {
      reply.error(errors.helloUnauthenticated);
    }
  },
});

/** The index of the credentials (0: none) and the new name; or the error reply. */
function readOptions(request: Request): { credentialsAt: number; name: string | undefined } | string {
  let credentialsAt = 0;
  let name: string | undefined;
  for (let index = 2; index < request.argumentCount; index++) {
    const following = request.argumentCount - 1 - index;
    if (argumentIs(request, index, AUTH) && following >= 2) {
      credentialsAt = index + 1;
      index += 2;
    } else if (argumentIs(request, index, SETNAME) && following >= 1) {
      name = textArgument(request, index + 1);
      const mistake = nameMistake(bytesArgument(request, index + 1), errors.clientNameInvalid);
      if (mistake !== undefined) return mistake;
      index += 1;
    } else {
      return errors.helloOption(textArgument(request, index));
    }
  }
  return { credentialsAt, name };
}

function greet({ client, reply, server }: Call, protocol: number, name: string | undefined): void {
  if (name !== undefined) client.name = name;
  client.protocol = protocol === 3 ? 3 : 2;
  reply.protocol = client.protocol;
  const fields = {
    server: 'redis',
    version: REDIS_VERSION,
    proto: client.protocol,
    id: client.id,
    mode: server.cluster === undefined ? 'standalone' : 'cluster',
    role: 'master',
  };
  reply.map(Object.keys(fields).length + 1);
  for (const [field, value] of Object.entries(fields)) replyField(reply, field, value);
  reply.bulkText('modules');
  reply.array(0);
}
