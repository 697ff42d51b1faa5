import type { Command } from '../../command.js';

const CATEGORY_OF_GROUP: Readonly<Record<Command['group'], string | undefined>> = {
  counter: '@string',
  generic: '@keyspace',
  connection: '@connection',
  server: undefined,
  transactions: '@transaction',
};

/** The ACL categories Redis would put the command in; some clients choose by them. */
export function categoriesOf(command: Command): string[] {
  const has = (flag: Command['flags'][number]) => command.flags.includes(flag);
  return [
    has('write') ? '@write' : undefined,
    has('readonly') ? '@read' : undefined,
    has('admin') ? '@admin' : undefined,
    has('fast') ? '@fast' : '@slow',
    has('admin') ? '@dangerous' : undefined,
    has('blocking') ? '@blocking' : undefined,
    CATEGORY_OF_GROUP[command.group],
  ].filter((category) => category !== undefined);
}
