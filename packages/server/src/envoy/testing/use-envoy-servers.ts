import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Configuration } from '@quotadb/config';
import { EnvoyClient } from '@quotadb/envoy/testing';
import { ManualClock } from '@quotadb/resp/testing';
import { afterEach } from 'vitest';
import { startTestServer, type TestServer } from '../../testing/test-server.js';

export interface EnvoyTestServer extends TestServer {
  readonly clock: ManualClock;
  readonly rlsPort: number;
  readonly client: EnvoyClient;
  /** A client with other options, closed with the server. */
  connect(options: ConstructorParameters<typeof EnvoyClient>[1]): EnvoyClient;
  /** Writes a file of the configuration. */
  write(name: string, text: string): Promise<void>;
}

/** For a file of tests: servers with a rate limit service, a clock that is set by hand, and a disk for exact limits. */
export function useEnvoyServers() {
  const ending: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const end of ending.splice(0).reverse()) await end();
  });
  return async (yaml: string, settings: Partial<Configuration> = {}): Promise<EnvoyTestServer> => {
    const directory = await mkdtemp(join(tmpdir(), 'quotadb-envoy-'));
    ending.push(() => rm(directory, { recursive: true }));
    // Without a disk an exact limit begins with its next window.
    const dataDirectory = /exact: true/.test(yaml) ? await mkdtemp(join(tmpdir(), 'quotadb-envoy-data-')) : '';
    if (dataDirectory !== '') ending.push(() => rm(dataDirectory, { recursive: true }));
    const write = (name: string, text: string) => writeFile(join(directory, name), text);
    await write('config.yaml', yaml);
    const clock = new ManualClock();
    const usual = { rlsPort: 0, envoyDirectory: directory, dataDirectory };
    const server = await startTestServer({ ...usual, ...settings }, clock);
    ending.push(() => server.stop());
    const rlsPort = server.server.state.identity.rlsPort as number;
    const connect: EnvoyTestServer['connect'] = (options) => {
      const client = new EnvoyClient(rlsPort, options);
      ending.push(async () => client.close());
      return client;
    };
    return { ...server, clock, rlsPort, client: connect({}), connect, write };
  };
}
