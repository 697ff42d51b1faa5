import { Quota, type QuotaBackend, QuotadbClient, QuotadbHttpClient, type QuotaOptions } from '@quotadb/client';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { startTestServer, type TestServer } from '../../../testing/index.js';
import { WatchedBackend } from './watched-backend.js';

export const PROTOCOLS = ['RESP', 'HTTP'] as const;
export const HOUR_MS = 3_600_000;
/** Nothing grows old in a test that does not want it. */
export const LONG_STALENESS_MS = 5_000;

/**
 * A server for the tests of a file, its clients over both protocols, and quotas of it that are closed after each test.
 */
export function useQuotaServer() {
  let server: TestServer;
  let client: QuotadbClient<number>;
  let http: QuotadbHttpClient;
  beforeAll(async () => {
    server = await startTestServer();
    client = QuotadbClient.open({ port: server.port });
    http = new QuotadbHttpClient({ url: `http://127.0.0.1:${server.httpPort}` });
    await client.ping();
  });
  afterAll(async () => {
    await client.close();
    await server.stop();
  });

  const quotas: Quota[] = [];
  afterEach(async () => {
    await Promise.all(quotas.splice(0).map((quota) => quota.close()));
  });

  let defined = 0;
  return {
    port: () => server.port,
    clientOver: (protocol: (typeof PROTOCOLS)[number]) => (protocol === 'RESP' ? client : http),

    /** Returns the name, which is a new one. */
    async define(limit: number, windowMs: number = HOUR_MS): Promise<string> {
      const name = `quota-${++defined}`;
      await client.quotaDefine(name, { limit, windowMs });
      return name;
    },

    open(name: string, options: Partial<QuotaOptions> = {}, backend: QuotaBackend = client) {
      const watched = new WatchedBackend(backend);
      const quota = new Quota({
        ...{ client: watched, name, whenAway: 'closed', stalenessMs: LONG_STALENESS_MS, timeoutMs: 20_000 },
        ...options,
      });
      quotas.push(quota);
      return { quota, watched };
    },

    async leftOf(name: string, subject = 'alice'): Promise<number> {
      return (await client.quotaPeek(name, subject)).remainingEverywhere;
    },
  };
}

/** Takes until the process answers without the server. */
export async function warm(quota: Quota, subject = 'alice'): Promise<number> {
  let taken = 0;
  for (; quota.tryTake(subject) === undefined; taken++) await quota.take(subject);
  return taken + 1;
}
