import type { Users } from '@quotadb/config';
import { commands } from './commands.js';

/** The mistakes in the commands that are taken from users: a name that is no command would take nothing. */
export function findUnknownCommands(users: Users): string[] {
  const names = new Set(
    commands.flatMap(({ name, subcommands = [] }) => [name, ...subcommands.map((each) => `${name}|${each.name}`)]),
  );
  return [...users.values()].flatMap(({ name, without = [] }) =>
    without
      .filter((command) => !names.has(command))
      .map((command) => `user "${name}": "${command}" in "without" is no command`),
  );
}
