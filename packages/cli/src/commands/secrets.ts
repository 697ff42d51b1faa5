import { createInterface } from 'node:readline';
import { createToken, hashPassword } from '@quotadb/config';
import { EXIT_OK, EXIT_USAGE } from '../terminal/exit-codes.js';

/** Prints what the "passwords" of a user take. The password comes from standard input, so that no list of processes has it. */
export async function runHashPassword(): Promise<number> {
  const password = await readSecret('Password: ');
  if (password === '') {
    process.stderr.write('quotadb: give the password on standard input: echo -n … | quotadb hash-password\n');
    return EXIT_USAGE;
  }
  process.stdout.write(`${await hashPassword(Buffer.from(password))}\n`);
  return EXIT_OK;
}

/** Prints a new token, which is not kept anywhere, and what the "tokens" of a user take. */
export async function runMakeToken(): Promise<number> {
  const { token, hash } = createToken();
  process.stdout.write(`token ${token}\nhash  ${hash}\n`);
  return EXIT_OK;
}

/** One line; at a terminal it is asked for and not shown. */
async function readSecret(prompt: string): Promise<string> {
  const isTerminal = process.stdin.isTTY === true;
  if (isTerminal) process.stderr.write(prompt);
  // Without an output readline edits the line and shows nothing of it.
  const lines = createInterface({ input: process.stdin, terminal: isTerminal });
  for await (const line of lines) {
    if (isTerminal) process.stderr.write('\n');
    return line;
  }
  return '';
}
