import type { Configuration } from './table.js';

/** What no single setting can know: mistakes that lie between them. */
export function checkTogether(configuration: Configuration): string[] {
  const mistakes: string[] = [];
  if (configuration.memory && configuration.dataDirectory !== '') {
    mistakes.push('--memory: --data is given too: choose one');
  }
  if (configuration.keepIncarnation && configuration.dataDirectory === '') {
    mistakes.push('--keep-incarnation: it says something about a --data directory, and there is none');
  }
  if (!isLoopback(configuration.host) && configuration.password === '') {
    mistakes.push(
      `--host: ${configuration.host} can be reached from other machines: give a --password (or QUOTADB_PASSWORD) too`,
    );
  }
  if (configuration.respPort !== 0 && configuration.respPort === configuration.httpPort) {
    mistakes.push(`--http: port ${configuration.httpPort} is already taken by --resp`);
  }
  const { respPort, httpPort, internalHttpPort } = configuration;
  if (internalHttpPort > 0 && (internalHttpPort === respPort || internalHttpPort === httpPort)) {
    mistakes.push(`--internal-http: port ${internalHttpPort} is already taken by --resp or --http`);
  }
  if (configuration.countsTokens.some((token) => configuration.countsInternalTokens.includes(token))) {
    mistakes.push('--counts-internal-token: must differ from every --counts-token');
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
  if (replicationPort !== -1 && !isLoopback(replicationHost) && !isOpen) {
    mistakes.push(`--repl-host: ${replicationHost} can be reached from other machines: ${NEEDS_CERTIFICATES}`);
  }
  for (const peer of peers) {
    if (peer.region === region) mistakes.push(`--peer: ${region} is the name of this region itself (--region)`);
    if (peers.find((other) => other.region === peer.region) !== peer)
      mistakes.push(`--peer: ${peer.region} is given twice`);
    if (!isLoopback(peer.host) && !isOpen) {
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

/** Whether only this machine can reach the address. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host);
}
