import type { Cleanup } from '../machine/cleanup.js';
import { findExecutable, isExecutable } from '../machine/executable.js';
import { freePorts } from './free-ports.js';
import { type ServerProcess, startServerProcess } from './server-process.js';

/** Redis is the baseline of most figures: without it there is nothing to compare with. */
export class NoRedisError extends Error {}

/** Redis cannot pick a port, so another program may take the free one that was found for it. */
const START_ATTEMPTS = 5;

/** The redis-server to measure: the one given, or the one on the PATH. */
export function requireRedis(given = ''): string {
  if (given !== '' && !isExecutable(given)) throw new NoRedisError(`--redis: ${given} is not an executable file`);
  const found = given || findExecutable('redis-server');
  if (found !== undefined) return found;
  throw new NoRedisError(
    'There is no redis-server on this machine, and this benchmark compares with one.\nInstall it (Debian and Ubuntu: ' +
      'apt-get install redis-server; macOS: brew install redis), or give its place with --redis PATH.',
  );
}

/** Starts Redis, or Valkey, which takes the same flags. */
export async function startRedis(
  name: string,
  program: string,
  flags: readonly string[],
  limits: boolean,
  cleanup: Cleanup,
): Promise<ServerProcess> {
  for (let attempt = 1; ; attempt++) {
    const port = (await freePorts(1))[0]!;
    const words = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', ...flags];
    const ready = (line: string) => (line.includes('Ready to accept connections') ? { port } : undefined);
    try {
      return await startServerProcess({ name, program, arguments: words, ready, limits }, cleanup);
    } catch (error) {
      const portWasTaken = String(error).includes('Address already in use');
      if (!portWasTaken || attempt === START_ATTEMPTS) throw error;
    }
  }
}
