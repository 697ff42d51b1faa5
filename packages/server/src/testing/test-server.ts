import pino from 'pino';
import { type Clock, systemClock } from '../clock.js';
import { type Configuration, defaultConfiguration } from '../config/table.js';
import { Server } from '../lifecycle/server.js';

/** A server in this process, from the sources, on free ports. */
export interface TestServer {
  readonly port: number;
  readonly httpPort: number;
  readonly server: Server;
  stop(): Promise<void>;
}

/** Small, because every test gets its own. */
const TEST_MEMORY_BYTES = 64 * 1024 * 1024;

export async function startTestServer(
  settings: Partial<Configuration> = {},
  clock: Clock = systemClock,
): Promise<TestServer> {
  const config: Configuration = {
    ...defaultConfiguration(),
    respPort: 0,
    httpPort: 0,
    maxMemoryBytes: TEST_MEMORY_BYTES,
    ...settings,
  };
  const server = new Server(config, clock, pino({ level: 'error' }, process.stderr));
  await server.start();
  const { respPort, httpPort } = server.state.identity;
  return { port: respPort, httpPort, server, stop: () => server.stop() };
}
