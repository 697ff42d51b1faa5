import type { Configuration } from './table.js';

/** All of them are looked at in every interval. */
const MAXIMUM_FEEDS = 10_000;

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
  if (configuration.feeds.length > MAXIMUM_FEEDS) mistakes.push(`--feed: there may be at most ${MAXIMUM_FEEDS}`);
  return mistakes;
}

/** Whether only this machine can reach the address. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host);
}
