import type { Users } from '../access/user.js';
import { duration } from '../kinds/duration.js';
import { choice, integer, pemFile, text, yesOrNo } from '../kinds/kinds.js';
import { users } from '../kinds/users-kind.js';
import { MAXIMUM_INT32, setting } from './setting.js';

/** Settings of passwords, users and TLS. */
export const securitySettings = {
  password: setting({
    flag: 'password',
    kind: text('password', /^.*$/s, 'any text; empty for none'),
    default: '',
    help: 'the password that clients give to AUTH; QUOTADB_PASSWORD keeps it out of the list of processes',
    parameter: 'requirepass',
    changeable: true,
    secret: true,
  }),
  users: setting({
    flag: 'users',
    kind: users(),
    default: new Map() as Users,
    help:
      'users with roles, key prefixes and hashed secrets, as JSON; in a config file an object. Read again on SIGHUP ' +
      'and ACL LOAD',
    secret: true,
  }),
  loginTimeoutSeconds: setting({
    flag: 'login-timeout',
    kind: duration('seconds', 0, MAXIMUM_INT32),
    default: 30,
    help: 'close a connection that has not logged in after this long, where it has to; 0 for never',
  }),
  respTlsPort: setting({
    flag: 'resp-tls',
    kind: integer('port', -1, 65_535),
    default: -1,
    help: 'a port for Redis clients that use TLS; -1 for none, 0 picks a free one',
    parameter: 'tls-port',
  }),
  httpTls: setting({
    flag: 'http-tls',
    kind: yesOrNo(),
    default: false,
    help: 'serve HTTP over TLS',
  }),
  tlsCertificate: setting({
    flag: 'tls-cert',
    kind: pemFile(),
    default: '',
    help: 'the certificate chain of this server; read again on SIGHUP and ACL LOAD',
    parameter: 'tls-cert-file',
  }),
  tlsKey: setting({
    flag: 'tls-key',
    kind: pemFile(),
    default: '',
    help: 'the private key of --tls-cert; read again with it',
    parameter: 'tls-key-file',
  }),
  tlsAuthority: setting({
    flag: 'tls-ca',
    kind: pemFile(),
    default: '',
    help: 'the authorities that client certificates are checked against; read again with --tls-cert',
    parameter: 'tls-ca-cert-file',
  }),
  tlsClients: setting({
    flag: 'tls-clients',
    kind: choice('certificates', ['ignored', 'optional', 'required']),
    default: 'ignored',
    help: 'client certificates: ignored, requested, or required and checked against --tls-ca',
  }),
};
