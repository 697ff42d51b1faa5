import { type Configuration, loadConfiguration, settingNames } from '@quotadb/config';
import type { Server } from '@quotadb/server';
import type { Command } from 'commander';
import { EXIT_USAGE } from '../terminal/exit-codes.js';
import { type Exit, Failure, runCommand } from '../terminal/run-command.js';
import { addSettings, configFile, configPath, type Flags, flagsOf, orMistakes } from '../terminal/settings.js';
import { stopSignal } from '../terminal/stop-signal.js';

const EXAMPLES = `
Examples:
  $ quotadb serve --resp 0 --max-memory 2gb        on a free port, which the first line of output names
  $ quotadb serve --data ./data --fsync always     nothing is acknowledged before it is on disk
  $ QUOTADB_PASSWORD=… quotadb serve --host 0.0.0.0
  $ quotadb serve --resp-tls 6390 --tls-cert server.crt --tls-key server.key
  $ kill -HUP <pid>                                read users and certificates again`;

/** `quotadb serve`. Its flags come from the table of settings, which also checks their values, all at once. */
export function serveCommand(program: Command, exit: Exit): void {
  const serve = program
    .command('serve')
    .description('serve Redis clients until SIGTERM or Ctrl-C')
    .addHelpText('after', EXAMPLES);
  addSettings(serve, settingNames);
  serve.action(() => runCommand(exit, () => runServe(flagsOf(serve), process.env)));
}

async function runServe(flags: Flags, environment: NodeJS.ProcessEnv): Promise<number | undefined> {
  const readConfiguration = async () =>
    loadConfiguration({ flags, environment, file: await configFile(flags, environment) });
  const config = await orMistakes(readConfiguration);
  if (config === undefined) return EXIT_USAGE;
  const stop = stopSignal();
  const server = await start(config, readConfiguration, configPath(flags, environment));
  process.stdout.write(`${JSON.stringify(server.readyLine())}\n`);
  process.on('SIGHUP', () => {
    server.reload().catch((error: Error) => server.logger.error(`the configuration stays as it was: ${error.message}`));
  });
  await stop;
  await server.stop();
  return undefined;
}

async function start(
  config: Configuration,
  reread: () => Promise<Configuration>,
  configFile: string | undefined,
): Promise<Server> {
  const { createServer } = await import('@quotadb/server');
  try {
    const server = createServer(config, { reread, configFile });
    await server.start();
    return server;
  } catch (error) {
    throw new Failure(explainStart(error as NodeJS.ErrnoException, config));
  }
}

export function explainStart(
  error: NodeJS.ErrnoException & { port?: number; address?: string },
  config: Configuration,
): string {
  if (error.name === 'StorageError') return error.message;
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
      return `${where} cannot be listened on: this user lacks the permission; choose a port from 1024 up`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `${config.host} is no address of this machine`;
    default:
      return `could not start: ${error.message}`;
  }
}
