import { createInterface } from 'node:readline';
import { createToken, hashPassword, Mistake } from '@quotadb/config';
import type { Command } from 'commander';
import { printJson } from '../terminal/json-output.js';
import { type Exit, runCommand } from '../terminal/run-command.js';

/** `quotadb hash-password`. The password comes from standard input, so that no list of processes shows it. */
export function hashPasswordCommand(program: Command, exit: Exit): void {
  program
    .command('hash-password')
    .description('hash a password, read from standard input, for the users of a config file')
    .addHelpText(
      'after',
      '\nExample:\n  $ quotadb hash-password < password.txt           the hash goes into "passwords"',
    )
    .option('--json', 'as JSON')
    .action(({ json }: { json?: boolean }) =>
      runCommand(exit, async () => {
        const password = await readSecret('Password: ');
        if (password === '')
          throw new Mistake('give the password on standard input: echo -n … | quotadb hash-password');
        const hash = await hashPassword(Buffer.from(password));
        if (json) printJson({ hash });
        else process.stdout.write(`${hash}\n`);
        return undefined;
      }),
    );
}

/** `quotadb make-token`. The token is printed and not stored. */
export function makeTokenCommand(program: Command, exit: Exit): void {
  program
    .command('make-token')
    .description('make a bearer token for HTTP, and its hash for the users of a config file')
    .addHelpText(
      'after',
      '\nExample:\n  $ quotadb make-token                             ' +
        'the token for the caller; the hash goes into "tokens"',
    )
    .option('--json', 'as JSON')
    .action(({ json }: { json?: boolean }) =>
      runCommand(exit, async () => {
        const { token, hash } = createToken();
        if (json) printJson({ token, hash });
        else process.stdout.write(`token ${token}\nhash  ${hash}\n`);
        return undefined;
      }),
    );
}

/** One line of standard input; at a terminal, behind a prompt and without echo. */
async function readSecret(prompt: string): Promise<string> {
  const isTerminal = process.stdin.isTTY === true;
  if (isTerminal) process.stderr.write(prompt);
  // Without an output readline edits the line and does not show it.
  const lines = createInterface({ input: process.stdin, terminal: isTerminal });
  for await (const line of lines) {
    if (isTerminal) process.stderr.write('\n');
    return line;
  }
  return '';
}
