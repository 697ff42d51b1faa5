import { Command, Option } from 'commander';
import { environmentVariable, settingNames, settingOf } from '../config/table.js';
import { QUOTADB_VERSION } from '../version.js';
import { EXIT_OK, EXIT_USAGE, runServe } from './serve.js';

const EXAMPLES = `
Examples:
  $ quotadb serve                                  on 127.0.0.1:6380, everything in memory
  $ quotadb serve --resp 0 --max-memory 2gb        on a free port, which the first line of output names
  $ quotadb serve --config quotadb.json            settings from a file; flags and QUOTADB_… win over it
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
