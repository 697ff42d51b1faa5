import { Command, Option } from 'commander';
import { environmentVariable, settingNames, settingOf } from '../config/table.js';
import { QUOTADB_VERSION } from '../version.js';
import { runBackup } from './backup.js';
import { certsCommand } from './certs.js';
import { peersCommand } from './peers.js';
import { runRepair } from './repair.js';
import { EXIT_OK, EXIT_USAGE, runServe } from './serve.js';

const EXAMPLES = `
Examples:
  $ quotadb serve                                  on 127.0.0.1:6380, everything in memory
  $ quotadb serve --resp 0 --max-memory 2gb        on a free port, which the first line of output names
  $ quotadb serve --config quotadb.json            settings from a file; flags and QUOTADB_… win over it
  $ quotadb serve --data ./data                    kept on disk, at most 100 ms behind
  $ quotadb serve --region us --peer eu=HOST:PORT  replicated with another region
  $ quotadb certs init --cluster c --out certs     certificates with which regions know each other
  $ redis-cli -p 6380 INCR visits                  any Redis client will do
  $ quotadb bench --help                           side by side with Redis`;

/** Each command resolves to the exit code of the process. */
export function buildProgram(onExitCode: (code: number) => void): Command {
  const program = new Command('quotadb')
    .description('Counters and limits over the Redis protocol.')
    .version(QUOTADB_VERSION, '--version')
    .addHelpText('after', EXAMPLES)
    .exitOverride((error) => onExitCode(error.exitCode === EXIT_OK ? EXIT_OK : EXIT_USAGE));

  program.addCommand(serveCommand(onExitCode).copyInheritedSettings(program));
  program
    .command('backup')
    .description('write everything that a running server holds into a directory, from which another can start')
    .requiredOption(
      '--to <directory>',
      'an empty directory, or one that is not there yet, on the machine of the server',
    )
    .option('--resp <port>', 'the port of the server', '6380')
    .option('--host <address>', 'the address of the server', '127.0.0.1')
    .option('--password <password>', `what the server asks for; ${environmentVariable('password')} names it too`)
    .action(async (options: { to: string; resp: string; host: string; password?: string }) => {
      const password = options.password ?? process.env[environmentVariable('password')];
      onExitCode(await runBackup({ host: options.host, port: Number(options.resp), password }, options.to));
    });
  program
    .command('repair')
    .description('salvage what is whole of a damaged data directory, and say what was lost')
    .requiredOption('--data <directory>', 'the data directory; no server may be using it')
    .option('--max-memory <size>', 'memory to work in; at least what the server had', '512mb')
    .option('--new-incarnation', 'start as another one next time: peers know more of this one than its disk does')
    .action(async (options: { data: string; maxMemory: string; newIncarnation?: boolean }) => {
      onExitCode(await runRepair(options.data, options.maxMemory, options.newIncarnation ?? false));
    });
  program.addCommand(peersCommand(onExitCode).copyInheritedSettings(program));
  program.addCommand(certsCommand(onExitCode).copyInheritedSettings(program));
  program
    .command('bench')
    .description('measure this server side by side with Redis')
    .helpOption(false)
    .allowUnknownOption()
    .allowExcessArguments()
    .action(async (_options, command: Command) => {
      const { runBench } = await import('@quotadb/bench');
      onExitCode(await runBench([...command.args]));
    });
  return program;
}

/** Values are taken as they are given: checking them is the table's business, all at once. */
function serveCommand(onExitCode: (code: number) => void): Command {
  const serve = new Command('serve').description('serve Redis clients until told to stop');
  for (const name of settingNames) {
    const { flag, kind, help, default: standard, secret } = settingOf(name);
    const value = kind.placeholder === '' ? '' : ` <${kind.placeholder}>`;
    const shown = secret === true ? '' : kind.show(standard);
    const option = new Option(`--${flag}${value}`, shown === '' ? help : `${help} (default: ${shown})`);
    if (Array.isArray(standard)) {
      option.argParser((item: string, before: string[] | undefined) => [...(before ?? []), item]);
    }
    serve.addOption(option);
  }
  serve.option('--config <file>', `a JSON file of settings; ${environmentVariable('config')} names it too`);
  serve.action(async (_options, command: Command) => {
    const flags = Object.fromEntries(
      serve.options.map((option) => [option.long?.slice(2) ?? '', command.getOptionValue(option.attributeName())]),
    );
    onExitCode(await runServe(flags, process.env));
  });
  return serve;
}
