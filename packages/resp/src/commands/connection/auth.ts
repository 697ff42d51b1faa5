import { DEFAULT_USER } from '@quotadb/config';
import { errors } from '../../errors/errors.js';
import { bytesArgument, textArgument } from '../../request/arguments.js';
import { defineCommand } from '../../session/define.js';
import { logIn } from '../../session/log-in.js';

export const auth = defineCommand({
  name: 'auth',
  arity: -2,
  flags: ['noscript', 'loading', 'stale', 'fast', 'no_auth'],
  group: 'connection',
  summary:
    'Authenticates the connection as a user of the config file, or as "default" with the password of --password.',
  since: '1.0.0',
  syntax: '[username] password',
  secretsFrom: 1,
  run(call) {
    const { request, server, reply } = call;
    const last = request.argumentCount - 1;
    if (last > 2) {
      reply.error(errors.syntax);
    } else if (last === 1 && server.access.isOpen) {
      reply.error(errors.noPasswordSet);
    } else {
      const name = last === 1 ? DEFAULT_USER : textArgument(request, 1);
      logIn(call, name, bytesArgument(request, last), (admitted) => admitted.reply.ok());
    }
  },
});
