import { type Configuration, countsAlone, loadConfiguration, usesColors } from '@quotadb/config';
import type { CountsServer } from '@quotadb/server';
import type { Command } from 'commander';
import { EXIT_USAGE } from '../terminal/exit-codes.js';
import { type Exit, Failure, runCommand } from '../terminal/run-command.js';
import { addSettings, configFile, type Flags, flagsOf, orMistakes } from '../terminal/settings.js';
import { summarizeCounts } from '../terminal/start-summary.js';
import { stopSignal } from '../terminal/stop-signal.js';
import { explainStart } from './serve.js';

const EXAMPLES = `
Examples:
  $ quotadb counts                                   on 127.0.0.1:8380, with a PostgreSQL of its own
  $ QUOTADB_POSTGRES=postgresql://… quotadb counts
  $ quotadb counts --host 0.0.0.0 --counts-token … --counts-internal-token …`;

/** `quotadb counts`: the image count-processing-service. */
export function countsCommand(program: Command, exit: Exit): void {
  const counts = program
    .command('counts')
    .description('serve the counts API alone, without Redis clients and other regions, until SIGTERM or Ctrl-C')
    .addHelpText('after', EXAMPLES);
  addSettings(counts, countsAlone.names);
  counts.action(() => runCommand(exit, () => runCounts(flagsOf(counts), process.env)));
}

async function runCounts(flags: Flags, environment: NodeJS.ProcessEnv): Promise<number | undefined> {
  const config = await orMistakes(async () =>
    loadConfiguration({ flags, environment, file: await configFile(flags, environment) }, countsAlone),
  );
  if (config === undefined) return EXIT_USAGE;
  const stop = stopSignal();
  const server = await start(config);
  const ready = server.readyLine();
  const isForPeople = process.stdout.isTTY && config.logFormat !== 'json';
  const summary = () => summarizeCounts(config, ready, usesColors(process.stdout, process.env));
  process.stdout.write(isForPeople ? summary() : `${JSON.stringify(ready)}\n`);
  await stop;
  (await import('@quotadb/server')).exitWithoutThreads();
  await server.stop();
  return undefined;
}

async function start(config: Configuration): Promise<CountsServer> {
  const { CountsServer } = await import('@quotadb/server');
  const server = new CountsServer(config);
  try {
    await server.start();
    return server;
  } catch (error) {
    await server.stop();
    throw new Failure(explainStart(error as NodeJS.ErrnoException, config));
  }
}
