import { QUOTADB_VERSION } from '@quotadb/config';
import { Command } from 'commander';
import { backupCommand } from '../commands/backup.js';
import { benchCommand } from '../commands/bench.js';
import { certsCommand } from '../commands/certs.js';
import { cliCommand } from '../commands/cli.js';
import { clusterCommand } from '../commands/cluster.js';
import { completionCommand } from '../commands/completion.js';
import { countsCommand } from '../commands/counts.js';
import { demoCommand } from '../commands/demo.js';
import { importCommand } from '../commands/import.js';
import { peersCommand } from '../commands/peers.js';
import { repairCommand } from '../commands/repair.js';
import { hashPasswordCommand, makeTokenCommand } from '../commands/secrets.js';
import { serveCommand } from '../commands/serve.js';
import { simulateCommand } from '../commands/simulate.js';
import { statusCommand } from '../commands/status.js';
import { watchCommand } from '../commands/watch.js';
import { EXIT_OK, EXIT_USAGE } from '../terminal/exit-codes.js';
import type { Exit } from '../terminal/run-command.js';
import { refuseExcessWords, rewordUsageError } from '../terminal/usage-errors.js';

const EXAMPLES = `
Examples:
  $ quotadb serve                                  on 127.0.0.1:6380, everything in memory
  $ quotadb serve --data ./data                    kept on disk, at most 100 ms behind
  $ quotadb serve --config quotadb.yaml            settings and users from a file; flags and QUOTADB_… win over it
  $ quotadb serve --region us --peer eu=HOST:PORT  replicated with another region
  $ quotadb counts --postgres URL                  the counts API alone, on a PostgreSQL
  $ quotadb certs init --cluster c --out certs     certificates by which regions recognise each other
  $ quotadb cluster status --etcd URL              groups, slots and members of the map in etcd
  $ quotadb cli                                    a prompt; any Redis client will do too
  $ quotadb cli INCR visits                        one command
  $ quotadb demo                                   three regions, and a page to play with them
  $ quotadb status                                 is it up, how busy, how full
  $ quotadb import --from 127.0.0.1:6379           the counters of a Redis, with their expiries
  $ quotadb bench --help                           side by side with Redis

Exit codes: 0 done; 1 failed, or the server replied with an error; 2 the command line or a setting is wrong;
3 the server cannot be reached.`;

/** In the order of the help. A package that only one command needs is loaded when that command runs. */
const COMMANDS = [
  serveCommand,
  countsCommand,
  cliCommand,
  demoCommand,
  statusCommand,
  watchCommand,
  peersCommand,
  clusterCommand,
  certsCommand,
  backupCommand,
  importCommand,
  repairCommand,
  hashPasswordCommand,
  makeTokenCommand,
  benchCommand,
  simulateCommand,
  completionCommand,
];

export function buildProgram(exit: Exit): Command {
  const program = new Command('quotadb')
    .description('Counters and limits over the Redis protocol.')
    .version(QUOTADB_VERSION, '--version')
    .enablePositionalOptions()
    .allowExcessArguments()
    .configureOutput({ outputError: (text, write) => write(rewordUsageError(text)) })
    .addHelpText('after', EXAMPLES)
    .exitOverride((error) => exit(error.exitCode === EXIT_OK ? EXIT_OK : EXIT_USAGE));
  for (const addTo of COMMANDS) addTo(program, exit);
  for (const command of program.commands) command.option('--no-color', 'no colours; NO_COLOR=1 does the same');
  program.hook('preAction', (_program, action) => {
    refuseExcessWords(action);
    // Processes that a command starts are to have no colours either.
    if (action.optsWithGlobals().color === false) process.env.NO_COLOR = '1';
  });
  return program;
}
