import { readFile } from 'node:fs/promises';
import {
  type Configuration,
  ConfigurationError,
  type ConfigurationSources,
  environmentVariable,
  loadConfiguration,
} from '@quotadb/config';
import { createServer, type Server } from '@quotadb/server';
import { StorageError } from '@quotadb/storage';
import { EXIT_FAILURE, EXIT_OK, EXIT_USAGE } from '../terminal/exit-codes.js';
import { stopSignal } from '../terminal/stop-signal.js';

export async function runServe(
  flags: ConfigurationSources['flags'],
  environment: ConfigurationSources['environment'],
): Promise<number> {
  const readConfiguration = async () =>
    loadConfiguration({ flags, environment, file: await configFile(flags, environment) });
  let config: Configuration;
  try {
    config = await readConfiguration();
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    for (const mistake of error.mistakes) process.stderr.write(`quotadb: ${mistake}\n`);
    return EXIT_USAGE;
  }

  let server: Server;
  const stop = stopSignal();
  try {
    server = createServer(config, { reread: readConfiguration });
    await server.start();
  } catch (error) {
    process.stderr.write(`quotadb: ${explainStart(error as NodeJS.ErrnoException, config)}\n`);
    return EXIT_FAILURE;
  }
  process.stdout.write(`${JSON.stringify(server.readyLine())}\n`);
  process.on('SIGHUP', () => {
    server.reload().catch((error: Error) => server.logger.error(`nothing was changed: ${error.message}`));
  });
  await stop;
  await server.stop();
  return EXIT_OK;
}

async function configFile(
  flags: ConfigurationSources['flags'],
  environment: ConfigurationSources['environment'],
): Promise<ConfigurationSources['file']> {
  const path = flags.config ?? environment[environmentVariable('config')];
  if (typeof path !== 'string') return undefined;
  try {
    return { path, text: await readFile(path, 'utf8') };
  } catch (error) {
    throw new ConfigurationError([`--config: ${(error as Error).message}`]);
  }
}

function explainStart(
  error: NodeJS.ErrnoException & { port?: number; address?: string },
  config: Configuration,
): string {
  if (error instanceof StorageError) return error.message;
  const where = `${error.address ?? config.host}:${error.port ?? '?'}`;
  switch (error.code) {
    case 'EADDRINUSE': {
      const flags = new Map([
        [config.internalHttpPort, '--internal-http'],
        [config.httpPort, '--http'],
        [config.replicationPort, '--repl'],
        [config.respTlsPort, '--resp-tls'],
      ]);
      const flag = flags.get(error.port ?? config.respPort) ?? '--resp';
      return `${where} is in use by another program; choose another port with ${flag} (0 picks a free one)`;
    }
    case 'EACCES':
      return `${where} may not be listened on by this user`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `${config.host} is no address of this machine`;
    default:
      return `could not start: ${error.message}`;
  }
}
