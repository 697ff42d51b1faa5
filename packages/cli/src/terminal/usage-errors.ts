import type { Command } from 'commander';

const PREFIX = /^error: /;
const HINT = /\n\(Did you mean (?:one of )?(.+?)\?\)$/;
const UNKNOWN_COMMAND = /^unknown command '.*'$/s;

/** A mistake in a command line in the form of all other mistakes: one line, with the nearest word behind it. */
export function rewordUsageError(text: string): string {
  const line = text.trimEnd().replace(PREFIX, '');
  const hint = HINT.exec(line)?.[1];
  if (hint !== undefined) return `quotadb: ${line.replace(HINT, '')}; did you mean ${hint}?\n`;
  return `quotadb: ${line}${UNKNOWN_COMMAND.test(line) ? '; "quotadb --help" lists them' : ''}\n`;
}

/** Refuses words that a command does not take, by name: the message of the library only counts them. */
export function refuseExcessWords(command: Command): void {
  const { args, registeredArguments } = command;
  if (registeredArguments.some(({ variadic }) => variadic) || args.length <= registeredArguments.length) return;
  const extra = JSON.stringify(args[registeredArguments.length]);
  const taken = registeredArguments.map((argument) => argument.name()).join(' and ');
  const place = taken === '' ? 'takes flags only' : `takes nothing behind ${taken}`;
  command.error(`error: ${extra} is one word too many: ${fullName(command)} ${place}`, { code: 'quotadb.excessWords' });
}

function fullName(command: Command): string {
  const name = command.name();
  return command.parent === null ? name : `${fullName(command.parent)} ${name}`;
}
