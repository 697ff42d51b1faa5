import type { Configuration } from '@quotadb/config';
import { afterEach } from 'vitest';
import { SpawnedServer, spawnServer } from './spawned-server.js';
import { startTestServer, type TestServer } from './test-server.js';

/** For a file of tests: starts servers in this process; each is stopped at the end of the test that started it. */
export function useTestServers(usual: Partial<Configuration> = {}) {
  const running: TestServer[] = [];
  afterEach(async () => {
    for (const server of running.splice(0)) await server.stop();
  });
  return async (settings: Partial<Configuration> = {}): Promise<TestServer> => {
    const server = await startTestServer({ ...usual, ...settings });
    running.push(server);
    return server;
  };
}

/** For a file of tests: starts quotadb processes; each is killed at the end of the test that started it. */
export function useProcesses() {
  const running: SpawnedServer[] = [];
  afterEach(async () => {
    for (const server of running.splice(0)) {
      server.child.kill('SIGKILL');
      await server.finished;
    }
  });
  const keep = (server: SpawnedServer): SpawnedServer => {
    running.push(server);
    return server;
  };
  return {
    /** `quotadb serve` on free ports. */
    serve: (...given: Parameters<typeof spawnServer>) => keep(spawnServer(...given)),
    quotadb: (...words: string[]) => keep(new SpawnedServer(words)),
  };
}
