import type { Configuration } from '@quotadb/config';
import { type Clock, systemClock } from '@quotadb/resp';
import type { FileSystem } from '@quotadb/storage';
import pino from 'pino';
import { createServer } from '../lifecycle/create-server.js';
import type { Server } from '../lifecycle/server.js';

/** A server in this process, from the sources, on free ports. */
export interface TestServer {
  readonly port: number;
  readonly httpPort: number;
  readonly server: Server;
  stop(): Promise<void>;
}

/** Small, because every test gets its own. */
const TEST_MEMORY_BYTES = 64 * 1024 * 1024;

/**
 * How the servers of this test run serve their clients: `net`, `epoll-1` or `epoll-4`. vitest.config.ts runs the tests
 * that go over a socket once with each.
 */
export const testTransport: string = process.env.QUOTADB_TEST_TRANSPORT ?? 'net';
const [transport, lanes] = testTransport.split('-');

export async function startTestServer(
  settings: Partial<Configuration> = {},
  clock: Clock = systemClock,
  fileSystem?: FileSystem,
): Promise<TestServer> {
  const usual: Partial<Configuration> = {
    respPort: 0,
    httpPort: 0,
    replicationPort: -1,
    maxMemoryBytes: TEST_MEMORY_BYTES,
    // Lanes have clocks of their own.
    transport: clock === systemClock && transport === 'epoll' ? 'epoll' : 'net',
    laneCount: Number(lanes ?? 1),
  };
  const logger = pino({ level: fileSystem === undefined ? 'error' : 'silent' }, process.stderr);
  const server = createServer({ ...usual, ...settings }, { clock, logger, fileSystem });
  await server.start();
  const { respPort, httpPort } = server.state.identity;
  return { port: respPort, httpPort, server, stop: () => server.stop() };
}
