import { type Configuration, ConfigurationError, checkTogether, defaultConfiguration } from '@quotadb/config';
import { findUnknownCommands, GuardedClock, systemClock } from '@quotadb/resp';
import pino from 'pino';
import { Server, type ServerParts } from './server.js';

/** By default the server logs to standard error, from `logLevel` up, and reads the clock and disk of the system. */
export type ServerOptions = Partial<Omit<ServerParts, 'config'>>;

/**
 * A server in this process. A setting that is left out has its default. Throws a ConfigurationError that names every
 * mistake in the settings.
 */
export function createServer(settings: Partial<Configuration> = {}, options: ServerOptions = {}): Server {
  const config: Configuration = { ...defaultConfiguration(), ...settings };
  const mistakes = [...checkTogether(config), ...findUnknownCommands(config.users)];
  if (mistakes.length > 0) throw new ConfigurationError(mistakes);
  const { logLevel, region } = config;
  return new Server({
    ...options,
    config,
    clock: options.clock ?? new GuardedClock({ source: systemClock, skewBoundMs: config.clockSkewBoundMs }),
    // Synchronous, so that no line is lost at exit.
    logger: options.logger ?? pino({ level: logLevel, base: { region } }, pino.destination({ fd: 2, sync: true })),
  });
}
