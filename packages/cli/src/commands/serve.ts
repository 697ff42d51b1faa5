import { type Configuration, loadConfiguration, settingNames, usesColors } from '@quotadb/config';
import { beginLaneThreads } from '@quotadb/resp/lane-threads';
import type { Server } from '@quotadb/server';
import type { Command } from 'commander';
import { EXIT_USAGE } from '../terminal/exit-codes.js';
import { type Exit, Failure, runCommand } from '../terminal/run-command.js';
import { addSettings, configFile, configPath, type Flags, flagsOf, orMistakes } from '../terminal/settings.js';
import { summarizeStart } from '../terminal/start-summary.js';
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
  beginLaneThreads(config);
  const stop = stopSignal();
  const server = await start(config, readConfiguration, configPath(flags, environment), stop);
  if (server === undefined) return undefined;
  announce(config, server);
  process.on('SIGHUP', () => {
    server.reload().catch((error: Error) => server.logger.error(`the configuration stays as it was: ${error.message}`));
  });
  await stop;
  (await import('@quotadb/server')).exitWithoutThreads();
  await server.stop();
  return undefined;
}

/** The ready line, for programs; at a terminal, a summary for people. */
function announce(config: Configuration, server: Server): void {
  const ready = server.readyLine();
  if (process.stdout.isTTY && config.logFormat !== 'json') {
    process.stdout.write(summarizeStart(config, ready, usesColors(process.stdout, process.env)));
    return;
  }
  process.stdout.write(`${JSON.stringify(ready)}\n`);
  const { resp, http, repl, rls, transport } = ready;
  server.logger.info({ resp, http, repl, rls, transport }, 'ready');
  if (config.dataDirectory === '')
    server.logger.warn('all data is in memory: nothing is kept when the server stops (--data DIR writes it to disk)');
}

/** Undefined where it was to stop before it had started. */
async function start(
  config: Configuration,
  reread: () => Promise<Configuration>,
  configFile: string | undefined,
  stop: Promise<void>,
): Promise<Server | undefined> {
  const { createServer } = await import('@quotadb/server');
  try {
    const server = createServer(config, { reread, configFile });
    const started = server.start().then(() => true);
    if (await Promise.race([started, stop.then(() => false)])) return server;
    started.catch(() => {});
    await server.stop();
    return undefined;
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
        [config.rlsPort, '--rls'],
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
