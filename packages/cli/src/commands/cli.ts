import { createInterface } from 'node:readline';
import { usesColors } from '@quotadb/config';
import type { Command } from 'commander';
import { formatReplyTo, rawReply, replyToJson } from '../client/format.js';
import type { Reply } from '../client/reply.js';
import { type RespClient, withClient } from '../client/resp-client.js';
import type { Hints } from '../prompt/hints.js';
import { splitWords } from '../prompt/split-words.js';
import { EXIT_FAILURE, EXIT_OK } from '../terminal/exit-codes.js';
import { type Exit, runCommand } from '../terminal/run-command.js';
import { type TargetOptions, targetOf, withTarget } from '../terminal/targets.js';

const EXAMPLES = `
Examples:
  $ quotadb cli                                    a prompt; Tab completes, "help incr" explains, Ctrl-D ends
  $ quotadb cli INCREX hits UBOUND 100 EX 60
  $ quotadb cli help @quota                        the commands of a group
  $ quotadb cli -p 6390 --json INFO server
  $ printf 'INCR a\\nGET a\\n' | quotadb cli        a command a line; exit code 1 when a reply was an error
  $ quotadb cli --tls --tls-ca ca.crt --user web --resp 6390 PING`;

interface CliOptions extends TargetOptions {
  readonly json?: boolean;
}

/** Commands of a pipe that are sent before the first reply: they hide the round trip and cost little memory. */
const IN_FLIGHT = 256;

/** `quotadb cli`: one command from the command line, a command for each line of a pipe, or a prompt. */
export function cliCommand(program: Command, exit: Exit): void {
  withTarget(program.command('cli'))
    .description('talk to a running server: a prompt, one command, or many from a pipe')
    .argument(
      '[command...]',
      'a command and its arguments; without one, a prompt, or a command for each line of standard input',
    )
    .option('--json', 'replies as JSON, one a line')
    .passThroughOptions()
    .addHelpText('after', EXAMPLES)
    .action((words: string[], options: CliOptions) =>
      runCommand(exit, async () => {
        if (words[0]?.toLowerCase() === 'help') return explainWords(words.slice(1));
        const target = targetOf(options);
        return withClient(target, async (client) => {
          if (words.length > 0) return runOne(client, words, options);
          if (!process.stdin.isTTY) return runPipe(client, options);
          const { runPrompt } = await import('../prompt/prompt.js');
          await runPrompt(target, client);
          return EXIT_OK;
        });
      }),
    );
}

async function runOne(client: RespClient, words: readonly string[], options: CliOptions): Promise<number> {
  const reply = await client.call(...words);
  const code = show(reply, options, words[0]);
  if (reply.kind !== 'error' || options.json) return code;
  const suggestion = (await loadHints()).suggestFor(words[0], reply);
  if (suggestion !== undefined) process.stderr.write(`quotadb: ${suggestion}\n`);
  return code;
}

async function explainWords([name, subcommand]: readonly string[]): Promise<number> {
  process.stdout.write(`${(await loadHints()).explain(name, subcommand)}\n`);
  return EXIT_OK;
}

/** The table of commands is a large package, which a command that succeeds does not need. */
async function loadHints(): Promise<Hints> {
  const [{ Hints }, { commands }] = await Promise.all([import('../prompt/hints.js'), import('@quotadb/resp')]);
  return new Hints(commands);
}

/** Exit code 1 says that some reply was an error. */
async function runPipe(client: RespClient, options: CliOptions): Promise<number> {
  let code = EXIT_OK;
  const inFlight: Promise<Reply>[] = [];
  const showFirst = async (): Promise<void> => {
    const reply = (await inFlight.shift()) as Reply;
    code = Math.max(code, show(reply, options));
  };
  for await (const line of createInterface({ input: process.stdin })) {
    if (line.trim() === '' || line.trimStart().startsWith('#')) continue;
    const words = splitWords(line);
    if (words === undefined) {
      while (inFlight.length > 0) await showFirst();
      code = Math.max(code, show({ kind: 'error', text: 'ERR quotes are not closed in this line' }, options));
      continue;
    }
    const reply = client.call(...words);
    // showFirst awaits it later; until then a failure must not count as an unhandled rejection.
    reply.catch(() => {});
    inFlight.push(reply);
    if (inFlight.length >= IN_FLIGHT) await showFirst();
  }
  while (inFlight.length > 0) await showFirst();
  return code;
}

/** At a terminal as people read it, into a pipe as programs do. */
function show(reply: Reply, { json }: CliOptions, command = ''): number {
  const plain = () =>
    process.stdout.isTTY ? formatReplyTo(command, reply, usesColors(process.stdout, process.env)) : rawReply(reply);
  const text = json ? JSON.stringify(replyToJson(reply)) : plain();
  process.stdout.write(Buffer.concat([Buffer.from(text), Buffer.from('\n')]));
  return reply.kind === 'error' ? EXIT_FAILURE : EXIT_OK;
}
