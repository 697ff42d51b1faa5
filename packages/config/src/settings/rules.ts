import { isLoopbackHost } from '@quotadb/replication/plaintext';
import { mayReplicateInPlaintext } from '../access/doors.js';
import { DEFAULT_USER } from '../access/user.js';
import type { Configuration } from './table.js';

/** All feeds are read in every interval. */
const MAXIMUM_FEEDS = 10_000;
const HEADER = /^[\w!#$%&'*+.^`|~-]+=[\x20-\x7e]*$/;

/** The mistakes of settings that do not fit together. */
export function checkTogether(configuration: Configuration): string[] {
  const mistakes: string[] = [];
  const check = (isMistake: boolean, text: string): void => {
    if (isMistake) mistakes.push(text);
  };
  const { memory, dataDirectory, keepIncarnation, host, password, users } = configuration;
  const { respPort, respTlsPort, httpPort, internalHttpPort } = configuration;
  check(memory && dataDirectory !== '', '--memory: --data is given too: choose one');
  check(keepIncarnation && dataDirectory === '', '--keep-incarnation: needs a --data directory with a backup');
  check(
    !isLoopbackHost(host) && password === '' && users.size === 0,
    `--host: ${host} can be reached from other machines: give a --password (or QUOTADB_PASSWORD) or users too`,
  );
  check(
    password !== '' && users.has(DEFAULT_USER),
    `--password: it is that of the user "${DEFAULT_USER}", which --users has too: choose one`,
  );
  check(respPort !== 0 && respPort === httpPort, `--http: port ${httpPort} is already taken by --resp`);
  check(
    internalHttpPort > 0 && (internalHttpPort === respPort || internalHttpPort === httpPort),
    `--internal-http: port ${internalHttpPort} is already taken by --resp or --http`,
  );
  check(
    respTlsPort > 0 && [respPort, httpPort, internalHttpPort].includes(respTlsPort),
    `--resp-tls: port ${respTlsPort} is already taken by --resp, --http or --internal-http`,
  );
  check(respPort === -1 && respTlsPort === -1, '--resp: without it there must be --resp-tls');
  const { tlsCertificate, tlsKey, tlsClients, tlsAuthority } = configuration;
  check(
    (respTlsPort !== -1 || configuration.httpTls) && (tlsCertificate === '' || tlsKey === ''),
    '--tls-cert, --tls-key: --resp-tls and --http-tls need both',
  );
  check(
    tlsClients === 'required' && tlsAuthority === '',
    '--tls-clients: certificates can only be required with a --tls-ca to check them against',
  );
  const { countsTokens, countsInternalTokens, feeds, otlpHeaders } = configuration;
  check(
    countsTokens.some((token) => countsInternalTokens.includes(token)),
    '--counts-internal-token: must differ from every --counts-token',
  );
  check(feeds.length > MAXIMUM_FEEDS, `--feed: there may be at most ${MAXIMUM_FEEDS}`);
  check(!otlpHeaders.every((header) => HEADER.test(header)), '--otlp-header: a header is name=value');
  mistakes.push(...checkReplication(configuration));
  return mistakes;
}

/** Whether replication has certificates. */
export function hasCertificates(configuration: Configuration): boolean {
  return configuration.replicationCertificate !== '';
}

function checkReplication(configuration: Configuration): string[] {
  const { region, peers, replicationPort, replicationHost, replicationPlaintext } = configuration;
  const { replicationCertificate, replicationKey, replicationAuthority } = configuration;
  const mistakes: string[] = [];
  const files = [replicationCertificate, replicationKey, replicationAuthority];
  const hasAll = files.every((file) => file !== '');
  if (!hasAll && files.some((file) => file !== '')) {
    mistakes.push('--repl-cert: --repl-cert, --repl-key and --repl-ca belong together: give all three');
  }
  const isOpen = hasAll || replicationPlaintext;
  if (replicationPort !== -1 && !isLoopbackHost(replicationHost) && !isOpen) {
    mistakes.push(`--repl-host: ${replicationHost} can be reached from other machines: ${NEEDS_CERTIFICATES}`);
  }
  if (peers.length > 0 && !hasAll && !mayReplicateInPlaintext(configuration)) {
    mistakes.push(
      `--peer: there are credentials, and replication without certificates asks for none: ${NEEDS_CERTIFICATES}`,
    );
  }
  for (const peer of peers) {
    if (peer.region === region) mistakes.push(`--peer: ${region} is the name of this region itself (--region)`);
    if (peers.find((other) => other.region === peer.region) !== peer)
      mistakes.push(`--peer: ${peer.region} is given twice`);
    if (!isLoopbackHost(peer.host) && !isOpen) {
      mistakes.push(`--peer: ${peer.region} is not on this machine: ${NEEDS_CERTIFICATES}`);
    }
  }
  const { respPort, httpPort, internalHttpPort } = configuration;
  if (replicationPort > 0 && [respPort, httpPort, internalHttpPort].includes(replicationPort)) {
    mistakes.push(`--repl: port ${replicationPort} is already taken by --resp, --http or --internal-http`);
  }
  return mistakes;
}

const NEEDS_CERTIFICATES =
  'give --repl-cert, --repl-key and --repl-ca (quotadb certs makes them), or say --repl-plaintext';
