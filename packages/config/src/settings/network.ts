import { NAME_PART } from '@quotadb/wire';
import { duration } from '../kinds/duration.js';
import { choice, hostNames, integer, outputLimit, port, size, text } from '../kinds/kinds.js';
import { GIBIBYTE, MAXIMUM_INT32, MEBIBYTE, setting } from './setting.js';

/** Redis's default; each connection costs a file descriptor and about 10 KB. */
const DEFAULT_MAXIMUM_CLIENTS = 10_000;

/** Settings of ports, transports and client connections. */
export const networkSettings = {
  region: setting({
    flag: 'region',
    kind: text('name', NAME_PART, '1 to 32 of a-z, 0-9 and -'),
    default: 'local',
    help: 'the name of this region',
  }),
  member: setting({
    flag: 'member',
    kind: text('name', /^(?:[a-z0-9][a-z0-9-]{0,31})?$/, '1 to 32 of a-z, 0-9 and -; empty for a lone server'),
    default: '',
    help:
      'the name of this server among several of its region: others know it as region/member (--peer us/b=…); empty ' +
      'where it is the only one',
  }),
  host: setting({
    flag: 'host',
    kind: text('address', /^\S+$/, 'a host name or an IP address'),
    default: '127.0.0.1',
    help: 'the address to listen on; one that other machines can reach needs a password',
    parameter: 'bind',
  }),
  respPort: setting({
    flag: 'resp',
    kind: integer('port', -1, 65_535),
    default: 6380,
    help: 'the port for Redis clients; 0 picks a free one, -1 for none, where --resp-tls is set',
    parameter: 'port',
  }),
  httpPort: setting({
    flag: 'http',
    kind: port(),
    default: 8380,
    help: 'the port for HTTP: counts, windows and rate limits, /healthz and /readyz',
  }),
  internalHttpPort: setting({
    flag: 'internal-http',
    kind: integer('port', -1, 65_535),
    default: -1,
    help:
      'a separate port for the internal part of the counts API, which --http then does not serve; -1 for none, ' +
      '0 picks a free one',
  }),
  httpNames: setting({
    flag: 'http-name',
    kind: hostNames(),
    default: [] as readonly string[],
    help:
      'a name by which clients and pages call the HTTP ports, for a server without credentials, or behind a proxy ' +
      'that changes Host; names of this machine need none. May be given several times',
  }),
  transport: setting({
    flag: 'transport',
    kind: choice('transport', ['auto', 'epoll', 'net']),
    default: 'auto',
    help: 'how clients are served: epoll (Linux, several threads), net (everywhere, one thread), or auto for the best',
  }),
  laneCount: setting({
    flag: 'lanes',
    kind: integer('count', 0, 64),
    default: 0,
    help: 'threads that serve clients over epoll; 0 starts one fewer than there are cores, 1 to 8',
  }),
  maxClients: setting({
    flag: 'max-clients',
    kind: integer('count', 1, 4_294_967_295),
    default: DEFAULT_MAXIMUM_CLIENTS,
    help: 'maximum of connections; further ones are refused',
    parameter: 'maxclients',
    changeable: true,
  }),
  timeoutSeconds: setting({
    flag: 'timeout',
    kind: duration('seconds', 0, MAXIMUM_INT32),
    default: 0,
    help: 'close a connection that has been silent this long; 0 for never',
    parameter: 'timeout',
    changeable: true,
  }),
  tcpKeepaliveSeconds: setting({
    flag: 'tcp-keepalive',
    kind: duration('seconds', 0, MAXIMUM_INT32),
    default: 300,
    help: 'probe silent connections this often, to detect clients that are gone; 0 for never',
    parameter: 'tcp-keepalive',
    changeable: true,
  }),
  outputLimit: setting({
    flag: 'client-output-buffer-limit',
    kind: outputLimit(),
    default: { hardBytes: 256 * MEBIBYTE, softBytes: MEBIBYTE, softSeconds: 60 },
    help:
      'unsent replies of a client that does not read: above "hard" it is closed, above "soft" it is not read from, ' +
      'and closed after "soft-seconds"',
    parameter: 'client-output-buffer-limit',
    changeable: true,
  }),
  queryBufferLimitBytes: setting({
    flag: 'client-query-buffer-limit',
    kind: size(MEBIBYTE, GIBIBYTE),
    default: 64 * MEBIBYTE,
    help: 'maximum bytes of one unfinished command, or of the commands of one MULTI; past it the client is closed',
    parameter: 'client-query-buffer-limit',
    changeable: true,
  }),
};
