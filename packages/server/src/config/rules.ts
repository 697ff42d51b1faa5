import { DEFAULT_USER } from '../access/user.js';
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
  const hasCredentials = configuration.password !== '' || configuration.users.size > 0;
  if (!isLoopback(configuration.host) && !hasCredentials) {
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
  return mistakes;
}

/** Whether only this machine can reach the address. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host);
}
