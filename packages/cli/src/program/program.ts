import { environmentVariable, QUOTADB_VERSION, settingNames, settingOf } from '@quotadb/config';
import { Argument, Command, Option } from 'commander';
import { certsCommand } from '../commands/certs.js';
import { completionScript, type Shell, shells } from '../commands/completion.js';
import { peersCommand } from '../commands/peers.js';
import { simulateCommand } from '../commands/simulate.js';
import { importCommand } from '../import/command.js';
import { EXIT_OK, EXIT_USAGE } from '../terminal/exit-codes.js';
import { loadOptionalPackage } from '../terminal/optional-package.js';
import { guarded, namedTarget, type TargetOptions, targetOf, withTarget } from '../terminal/targets.js';

const EXAMPLES = `
Examples:
  $ quotadb serve                                  on 127.0.0.1:6380, everything in memory
  $ quotadb serve --data ./data                    kept on disk, at most 100 ms behind
  $ quotadb serve --config quotadb.json            settings and users from a file; flags and QUOTADB_… win over it
  $ quotadb serve --region us --peer eu=HOST:PORT  replicated with another region
  $ quotadb certs init --cluster c --out certs     certificates with which regions know each other
  $ quotadb cli                                    a prompt; any Redis client will do too
  $ quotadb cli INCR visits                        one command
  $ quotadb demo                                   three regions, and a page to play with them
  $ quotadb status                                 is it up, how busy, how full
  $ quotadb import --from 127.0.0.1:6379           the counters of a Redis, with their expiries
  $ quotadb bench --help                           side by side with Redis

Exit codes: 0 it is done; 1 it could not be done, or the server replied with an error; 2 it was asked for in a
wrong way; 3 the server cannot be reached.`;

type Report = (code: number) => void;

/** Each command resolves to the exit code of the process; what only one of them needs is loaded when it runs. */
export function buildProgram(onExitCode: Report): Command {
  const program = new Command('quotadb')
    .description('Counters and limits over the Redis protocol.')
    .version(QUOTADB_VERSION, '--version')
    .enablePositionalOptions()
    .addHelpText('after', EXAMPLES)
    .exitOverride((error) => onExitCode(error.exitCode === EXIT_OK ? EXIT_OK : EXIT_USAGE));
  const add = (command: Command): void => {
    program.addCommand(command.copyInheritedSettings(program));
  };
  add(serveCommand(onExitCode));
  add(cliCommand(onExitCode));
  add(demoCommand(onExitCode));
  add(statusCommand(onExitCode));
  add(watchCommand(onExitCode));
  add(peersCommand(onExitCode));
  add(certsCommand(onExitCode));
  add(backupCommand(onExitCode));
  add(importCommand(onExitCode));
  add(repairCommand(onExitCode));
  add(hashPasswordCommand(onExitCode));
  add(makeTokenCommand(onExitCode));
  // It has a help of its own.
  program.addCommand(benchCommand(onExitCode).copyInheritedSettings(program).helpOption(false).allowExcessArguments());
  add(simulateCommand(onExitCode));
  add(completionCommand(program, onExitCode));
  return program;
}

/** Values are taken as they are given: checking them is the table's business, all at once. */
function serveCommand(onExitCode: Report): Command {
  const serve = new Command('serve').description('serve Redis clients until told to stop').addHelpText(
    'after',
    `
Examples:
  $ quotadb serve --resp 0 --max-memory 2gb        on a free port, which the first line of output names
  $ quotadb serve --data ./data --fsync always     nothing is acknowledged before it is on disk
  $ QUOTADB_PASSWORD=… quotadb serve --host 0.0.0.0
  $ quotadb serve --resp-tls 6390 --tls-cert server.crt --tls-key server.key
  $ kill -HUP <pid>                                read users and certificates again`,
  );
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
  return serve.action(async (_options, command: Command) => {
    const flags = Object.fromEntries(
      serve.options.map((option) => [option.long?.slice(2) ?? '', command.getOptionValue(option.attributeName())]),
    );
    const { runServe } = await import('../commands/serve.js');
    onExitCode(await runServe(flags, process.env));
  });
}

function cliCommand(onExitCode: Report): Command {
  return withTarget(new Command('cli'))
    .description('talk to a running server: a prompt, one command, or many from a pipe')
    .argument(
      '[command...]',
      'a command and its arguments; without one, a prompt, or a command for each line of standard input',
    )
    .option('--json', 'replies as JSON, one a line')
    .passThroughOptions()
    .addHelpText(
      'after',
      `
Examples:
  $ quotadb cli                                    a prompt; Tab completes, "help incr" explains, Ctrl-D ends
  $ quotadb cli INCREX hits UBOUND 100 EX 60
  $ quotadb cli --json INFO server
  $ printf 'INCR a\\nGET a\\n' | quotadb cli        a command a line; exit code 1 when a reply was an error
  $ quotadb cli --tls --tls-ca ca.crt --user web --resp 6390 PING`,
    )
    .action(async (words: string[], options: TargetOptions & { json?: boolean }) => {
      const { runCli } = await import('../commands/run-cli.js');
      onExitCode(await guarded(() => runCli(targetOf(options), words, options)));
    });
}

function statusCommand(onExitCode: Report): Command {
  return withTarget(new Command('status'))
    .description('servers at a glance: up, busy, full, on disk')
    .argument('[server...]', 'several servers, as host:port or name=host:port')
    .option('--json', 'as JSON')
    .option('--watch [seconds]', 'again and again')
    .addHelpText(
      'after',
      `
Examples:
  $ quotadb status
  $ quotadb status us=10.0.0.1:6380 eu=10.0.1.1:6380 --watch 2
  $ quotadb status --json | jq .[0].keys           exit code 3 when one cannot be reached, 1 when one is failing`,
    )
    .action(async (servers: string[], options: TargetOptions & { json?: boolean; watch?: string | true }) => {
      const { runStatus } = await import('../commands/run-status.js');
      const watch = options.watch === true ? '1' : options.watch;
      onExitCode(
        await guarded(async () => {
          const named = servers.length === 0 ? [`${options.host}:${options.resp}`] : servers;
          const targets = named.map((server) => namedTarget(server, options));
          return runStatus(targets, { ...(options.json && { json: true }), ...(watch !== undefined && { watch }) });
        }),
      );
    });
}

function watchCommand(onExitCode: Report): Command {
  return withTarget(new Command('watch'))
    .description('follow a counter: a line for each change')
    .argument('<key>', 'the key')
    .option('--interval <milliseconds>', 'time between two looks', '500')
    .option('--count <lines>', 'stop after so many lines')
    .option('--json', 'a JSON object a line')
    .addHelpText(
      'after',
      `
Examples:
  $ quotadb watch visits
  $ quotadb watch visits --interval 100 --json | jq .perSecond`,
    )
    .action(async (key: string, options: TargetOptions & { interval: string; count?: string; json?: boolean }) => {
      const { runWatch } = await import('../commands/run-watch.js');
      onExitCode(await guarded(() => runWatch(targetOf(options), key, options)));
    });
}

function demoCommand(onExitCode: Report): Command {
  return new Command('demo')
    .description(
      'three regions on this machine with clients in each, and a page where links can be cut and regions killed',
    )
    .option('--http <port>', 'the port of the page; 0 picks a free one', '8381')
    .addHelpText(
      'after',
      `
Examples:
  $ quotadb demo                                   then open the address it prints; Ctrl-C ends everything
  $ quotadb demo --http 9000`,
    )
    .action(async (options: { http: string }) => {
      const { runDemo } = await import('../commands/demo.js');
      onExitCode(await runDemo(Number(options.http)));
    });
}

function backupCommand(onExitCode: Report): Command {
  return withTarget(new Command('backup'))
    .description('write everything that a running server holds into a directory, from which another can start')
    .requiredOption(
      '--to <directory>',
      'an empty directory, or one that is not there yet, on the machine of the server',
    )
    .addHelpText(
      'after',
      `
Examples:
  $ quotadb backup --to /backups/$(date +%F)
  $ quotadb serve --data /backups/2026-01-31       starts from it, as a new incarnation`,
    )
    .action(async (options: TargetOptions & { to: string }) => {
      const { runBackup } = await import('../commands/backup.js');
      onExitCode(await guarded(() => runBackup(targetOf(options), options.to)));
    });
}

function repairCommand(onExitCode: Report): Command {
  return new Command('repair')
    .description('salvage what is whole of a damaged data directory, and say what was lost')
    .requiredOption('--data <directory>', 'the data directory; no server may be using it')
    .option('--max-memory <size>', 'memory to work in; at least what the server had', '512mb')
    .option('--new-incarnation', 'start as another one next time: peers know more of this one than its disk does')
    .addHelpText(
      'after',
      `
Examples:
  $ quotadb repair --data ./data                   old files are kept in ./data/damaged-…
  $ quotadb repair --data ./data --new-incarnation when peers refuse an old copy of a data directory`,
    )
    .action(async (options: { data: string; maxMemory: string; newIncarnation?: boolean }) => {
      const { runRepair } = await import('../commands/repair.js');
      onExitCode(await runRepair(options.data, options.maxMemory, options.newIncarnation ?? false));
    });
}

function hashPasswordCommand(onExitCode: Report): Command {
  return new Command('hash-password')
    .description('hash a password, read from standard input, for the users of a config file')
    .addHelpText(
      'after',
      '\nExample:\n  $ quotadb hash-password < password.txt           the hash goes into "passwords"',
    )
    .action(async () => {
      const { runHashPassword } = await import('../commands/secrets.js');
      onExitCode(await runHashPassword());
    });
}

function makeTokenCommand(onExitCode: Report): Command {
  return new Command('make-token')
    .description('make a bearer token for HTTP, and its hash for the users of a config file')
    .addHelpText(
      'after',
      `
Example:
  $ quotadb make-token                             the token for the caller; the hash goes into "tokens"`,
    )
    .action(async () => {
      const { runMakeToken } = await import('../commands/secrets.js');
      onExitCode(await runMakeToken());
    });
}

function benchCommand(onExitCode: Report): Command {
  return new Command('bench')
    .description('measure this server side by side with Redis')
    .allowUnknownOption()
    .allowExcessArguments()
    .action(async (_options, command: Command) => {
      const { runBench } = await loadOptionalPackage('bench', '@quotadb/bench', () => import('@quotadb/bench'));
      onExitCode(await runBench([...command.args]));
    });
}

function completionCommand(program: Command, onExitCode: Report): Command {
  return new Command('completion')
    .description('a script that completes commands and flags in your shell')
    .addArgument(new Argument('<shell>', 'your shell').choices(shells))
    .addHelpText(
      'after',
      `
Examples:
  $ source <(quotadb completion bash)
  $ quotadb completion zsh > "\${fpath[1]}/_quotadb"
  $ quotadb completion fish > ~/.config/fish/completions/quotadb.fish`,
    )
    .action((shell: Shell) => {
      process.stdout.write(completionScript(program, shell));
      onExitCode(EXIT_OK);
    });
}
