import type { Command } from '@quotadb/resp';

const GROUP_TITLES: Readonly<Record<Command['group'], string>> = {
  counter: 'Counters',
  window: 'Windows',
  rate: 'Rate limits',
  generic: 'Keys',
  transactions: 'Transactions',
  scripting: 'Scripts',
  connection: 'Connections',
  cluster: 'Cluster',
  limit: 'Limits',
  quota: 'Quotas',
  replication: 'Replication',
  server: 'Server',
};

/** docs/commands.md, from the table of commands. */
export function commandsDocument(commands: readonly Command[]): string {
  const groups = Object.entries(GROUP_TITLES) as [Command['group'], string][];
  return [
    '# Commands',
    '',
    'Made from the table in `packages/resp/src/commands`; `npm run generate` makes it anew. Replies and errors are',
    'those of Redis; [redis-differences.md](redis-differences.md) has the exceptions. "Since" is the first version of',
    'Redis with the command.',
    '',
    ...groups.map(([, title]) => `- [${title}](#${title.toLowerCase().replaceAll(' ', '-')})`),
    ...groups.flatMap(([group, title]) => groupLines(title, commands, group)),
    '',
  ].join('\n');
}

function groupLines(title: string, commands: readonly Command[], group: Command['group']): string[] {
  const rows = commands
    .filter((command) => command.group === group)
    .toSorted((one, other) => (one.name < other.name ? -1 : 1))
    .flatMap((command) => rowsOf(command));
  return ['', `## ${title}`, '', '| command | what it does | cost | since |', '|---|---|---|---|', ...rows];
}

/** A command that is nothing but its subcommands has no row of its own. */
function rowsOf(command: Command): string[] {
  const name = command.name.toUpperCase();
  const own = command.run === undefined ? [] : [row(name, command)];
  const subcommands = command.subcommands ?? [];
  return [...own, ...subcommands.map((subcommand) => row(`${name} ${subcommand.name.toUpperCase()}`, subcommand))];
}

function row(name: string, { syntax, summary, complexity, since }: Command): string {
  const call = `${name} ${syntax}`.trimEnd();
  return `| \`${escaped(call)}\` | ${escaped(summary)} | ${escaped(complexity)} | ${since} |`;
}

function escaped(text: string): string {
  return text.replaceAll('|', '\\|');
}
