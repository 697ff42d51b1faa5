import { type Configuration, ConfigurationError, checkTogether, defaultConfiguration } from '@quotadb/config';
import { findUnknownCommands, GuardedClock, systemClock } from '@quotadb/resp';
import { serverName } from '@quotadb/wire';
import { createLogger } from '../logging/create-logger.js';
import { Server, type ServerParts } from './server.js';

/**
 * By default the server logs to standard error, as `logLevel` and `logFormat` say, and reads the clock and disk of the
 * system.
 */
export type ServerOptions = Partial<Omit<ServerParts, 'config'>>;

/**
 * A server in this process. A setting that is left out has its default. Throws a ConfigurationError that names every
 * mistake in the settings.
 */
export function createServer(settings: Partial<Configuration> = {}, options: ServerOptions = {}): Server {
  const config: Configuration = { ...defaultConfiguration(), ...settings };
  const mistakes = [...checkTogether(config), ...findUnknownCommands(config.users)];
  if (mistakes.length > 0) throw new ConfigurationError(mistakes);
  return new Server({
    ...options,
    config,
    clock: options.clock ?? new GuardedClock({ source: systemClock, skewBoundMs: config.clockSkewBoundMs }),
    logger: options.logger ?? createLogger(config, { region: serverName(config) }),
  });
}
