import type { Command } from './command.js';

/** A command that is nothing but its subcommands, HELP among them. */
export function container(
  declaration: Pick<Command, 'name' | 'group' | 'summary' | 'since' | 'run'> & {
    readonly subcommands: readonly Command[];
    /** Left out where a subcommand must be named. */
    readonly arity?: number;
  },
): Command {
  const { name, group, subcommands } = declaration;
  const help: Command = {
    name: 'help',
    arity: 2,
    flags: ['loading', 'stale'],
    group,
    summary: 'Lists the subcommands.',
    since: '5.0.0',
    complexity: 'O(1)',
    syntax: '',
    run({ reply }) {
      const lines = helpLines(name, [...subcommands, help]);
      reply.array(lines.length);
      for (const line of lines) reply.simple(line);
    },
  };
  return {
    arity: -2,
    flags: [],
    complexity: 'Depends on subcommand',
    syntax: '',
    ...declaration,
    subcommands: [...subcommands, help],
  };
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
