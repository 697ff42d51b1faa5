import { replyLines } from '../reply/values.js';
import type { Command } from './command.js';
import { defineCommand } from './define.js';

/** A command that consists of subcommands, HELP among them. */
export function container(
  declaration: Pick<Command, 'name' | 'group' | 'summary' | 'since' | 'run'> & {
    readonly subcommands: readonly Command[];
    /** Left out where a subcommand must be named. */
    readonly arity?: number;
  },
): Command {
  const { name, group, subcommands } = declaration;
  const help: Command = defineCommand({
    name: 'help',
    arity: 2,
    flags: ['loading', 'stale'],
    group,
    summary: 'Lists the subcommands.',
    since: '5.0.0',
    run({ reply }) {
      const lines = helpLines(name, [...subcommands, help]);
      replyLines(reply, lines);
    },
  });
  return defineCommand({
    arity: -2,
    flags: [],
    complexity: 'Depends on subcommand',
    ...declaration,
    subcommands: [...subcommands, help],
  });
}

function helpLines(name: string, subcommands: readonly Command[]): string[] {
  return [
    `${name.toUpperCase()} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:`,
    ...subcommands.flatMap((subcommand) => [
      `${subcommand.name.toUpperCase()} ${subcommand.syntax}`.trimEnd(),
      `    ${subcommand.summary}`,
    ]),
  ];
}
