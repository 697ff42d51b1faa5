import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import type { Cleanup } from '../cleanup.js';
import { type ServerProcess, startServerProcess } from './server-process.js';

/** Redis cannot pick a port itself, so another program may take the free one that was found for it. */
const START_ATTEMPTS = 5;

/** Starts Redis, or Valkey, which takes the same options: nothing on disk, everything else as it comes. */
export async function startRedis(
  name: string,
  program: string,
  withLimits: boolean,
  cleanup: Cleanup,
): Promise<ServerProcess> {
  for (let attempt = 1; ; attempt++) {
    const port = await freePort();
    try {
      return await startServerProcess(
        {
          name,
          program,
          arguments: (directory) => [
            ...['--port', String(port), '--bind', '127.0.0.1', '--dir', directory],
            ...['--save', '', '--appendonly', 'no'],
          ],
          readyPort: (line) => (line.includes('Ready to accept connections') ? port : undefined),
        },
        withLimits,
        cleanup,
      );
    } catch (error) {
      const portWasTaken = String(error).includes('Address already in use');
      if (!portWasTaken || attempt === START_ATTEMPTS) throw error;
    }
  }
}

export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  return port;
}
