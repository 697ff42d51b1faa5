import { isLoopbackHost } from '@quotadb/replication/plaintext';
import type { ConfigurationScope } from './load.js';
import type { Configuration } from './table.js';

/** `quotadb counts`: the settings that mean something without Redis clients and other regions. */
export const countsAlone: ConfigurationScope = {
  names: [
    'host',
    'httpPort',
    'internalHttpPort',
    'httpNames',
    'httpTls',
    'tlsCertificate',
    'tlsKey',
    'maxClients',
    'dataDirectory',
    'postgresUrl',
    'countsAdopt',
    'postgresStatements',
    'postgresConnections',
    'countsTokens',
    'countsInternalTokens',
    'idempotencyWindowHours',
    'logLevel',
    'logFormat',
  ],
  check: (configuration) => checks.flatMap(([isMistake, text]) => (isMistake(configuration) ? [text] : [])),
};

/** A password is of no use here: the counts API takes tokens only. */
const checks: readonly (readonly [isMistake: (configuration: Configuration) => boolean, text: string])[] = [
  [
    ({ host, countsTokens, countsInternalTokens }) =>
      !isLoopbackHost(host) && countsTokens.length + countsInternalTokens.length === 0,
    '--host: other machines can reach it: give a --counts-token and a --counts-internal-token too',
  ],
  [
    ({ countsTokens, countsInternalTokens }) => countsTokens.some((token) => countsInternalTokens.includes(token)),
    '--counts-internal-token: must differ from every --counts-token',
  ],
  [
    ({ httpPort, internalHttpPort }) => internalHttpPort > 0 && internalHttpPort === httpPort,
    '--internal-http: its port is already taken by --http',
  ],
  [
    ({ httpTls, tlsCertificate, tlsKey }) => httpTls && (tlsCertificate === '' || tlsKey === ''),
    '--tls-cert, --tls-key: --http-tls needs both',
  ],
];
