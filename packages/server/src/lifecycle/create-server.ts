import { type Configuration, ConfigurationError, checkTogether, defaultConfiguration } from '@quotadb/config';
import { type Clock, systemClock } from '@quotadb/resp';
import type { FileSystem } from '@quotadb/storage';
import pino, { type Logger } from 'pino';
import { Server } from './server.js';

export interface ServerOptions {
  /** Where the server logs; by default to standard error, from `logLevel` up. */
  readonly logger?: Logger;
  readonly clock?: Clock;
  /** The disk; another one is for tests. */
  readonly fileSystem?: FileSystem;
  /** Reads the configuration again, for `ACL LOAD` and `reload()`. */
  readonly reread?: () => Promise<Configuration>;
}

/**
 * A server in this process. Settings that are left out have their defaults; throws a ConfigurationError with every
 * mistake in them.
 *
 * @example
 * const server = createServer({ respPort: 0, httpPort: 0, dataDirectory: './data' });
 * await server.start();
 * console.log(server.readyLine());
 * await server.stop();
 */
export function createServer(settings: Partial<Configuration> = {}, options: ServerOptions = {}): Server {
  const config: Configuration = { ...defaultConfiguration(), ...settings };
  const mistakes = checkTogether(config);
  if (mistakes.length > 0) throw new ConfigurationError(mistakes);
  const { clock = systemClock, fileSystem, reread } = options;
  // Synchronous, so that nothing logged is lost at exit.
  const logger =
    options.logger ??
    pino({ level: config.logLevel, base: { region: config.region } }, pino.destination({ fd: 2, sync: true }));
  return new Server(config, clock, logger, fileSystem, reread);
}
