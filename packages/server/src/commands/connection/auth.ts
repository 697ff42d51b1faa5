import { errors } from '../../errors.js';
import { bytesArgument, textArgument } from '../arguments.js';
import type { Command } from '../command.js';
import { credentialsMatch, DEFAULT_USER } from './credentials.js';

export const auth: Command = {
  name: 'auth',
  arity: -2,
  flags: ['noscript', 'loading', 'stale', 'fast', 'no_auth'],
  group: 'connection',
  summary: 'Authenticates the connection with the password of --password; the only user is "default".',
  since: '1.0.0',
  complexity: 'O(1)',
  syntax: '[username] password',
  run({ request, client, server, reply }) {
    const { password } = server.config;
    const last = request.argumentCount - 1;
    if (last > 2) {
      reply.error(errors.syntax);
    } else if (last === 1 && password === '') {
      reply.error(errors.noPasswordSet);
    } else if (
      credentialsMatch(last === 1 ? DEFAULT_USER : textArgument(request, 1), bytesArgument(request, last), password)
    ) {
      client.authenticated = true;
      reply.ok();
    } else {
      reply.error(errors.wrongPassword);
    }
  },
};
