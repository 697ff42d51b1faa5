import { isLoopbackHost } from '@quotadb/replication/plaintext';
import type { Configuration } from './table.js';
import { DEFAULT_USER } from './user.js';

/** All of them are looked at in every interval. */
const MAXIMUM_FEEDS = 10_000;
const HEADER = /^[\w!#$%&'*+.^`|~-]+=[\x20-\x7e]*$/;

/** What no single setting can know: mistakes that lie between them. */
export function checkTogether(configuration: Configuration): string[] {
  const mistakes: string[] = [];
  if (configuration.memory && configuration.dataDirectory !== '') {
    mistakes.push('--memory: --data is given too: choose one');
  }
  if (configuration.keepIncarnation && configuration.dataDirectory === '') {
    mistakes.push('--keep-incarnation: it says something about a --data directory, and there is none');
  }
  const hasCredentials = configuration.password !== '' || configuration.users.size > 0;
  if (!isLoopbackHost(configuration.host) && !hasCredentials) {
    mistakes.push(
      `--host: ${configuration.host} can be reached from other machines: give a --password (or QUOTADB_PASSWORD) or users too`,
    );
  }
  if (configuration.password !== '' && configuration.users.has(DEFAULT_USER)) {
    mistakes.push(`--password: it is that of the user "${DEFAULT_USER}", which --users has too: choose one`);
  }
  if (configuration.respPort !== 0 && configuration.respPort === configuration.httpPort) {
    mistakes.push(`--http: port ${configuration.httpPort} is already taken by --resp`);
  }
  const { respPort, respTlsPort, httpPort, internalHttpPort } = configuration;
  if (internalHttpPort > 0 && (internalHttpPort === respPort || internalHttpPort === httpPort)) {
    mistakes.push(`--internal-http: port ${internalHttpPort} is already taken by --resp or --http`);
  }
  if (respTlsPort > 0 && [respPort, httpPort, internalHttpPort].includes(respTlsPort)) {
    mistakes.push(`--resp-tls: port ${respTlsPort} is already taken by another`);
  }
  if (respPort === -1 && respTlsPort === -1) mistakes.push('--resp: without it there must be --resp-tls');
  const isTlsWanted = respTlsPort !== -1 || configuration.httpTls;
  if (isTlsWanted && (configuration.tlsCertificate === '' || configuration.tlsKey === '')) {
    mistakes.push('--tls-cert, --tls-key: --resp-tls and --http-tls need both');
  }
  if (configuration.tlsClients === 'required' && configuration.tlsAuthority === '') {
    mistakes.push('--tls-clients: certificates can only be required with a --tls-ca to check them against');
  }
  if (configuration.countsTokens.some((token) => configuration.countsInternalTokens.includes(token))) {
    mistakes.push('--counts-internal-token: must differ from every --counts-token');
  }
  if (configuration.feeds.length > MAXIMUM_FEEDS) mistakes.push(`--feed: there may be at most ${MAXIMUM_FEEDS}`);
  if (configuration.otlpHeaders.some((header) => !HEADER.test(header))) {
    mistakes.push('--otlp-header: a header is name=value');
  }
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
