import { roleOf } from '@quotadb/config';
import type { Command } from '../../../session/command.js';

/** The ACL categories Redis would put the command in, in Redis's order; some clients choose by them. */
export function categoriesOf(command: Command): string[] {
  const { flags, group } = command;
  const has = (flag: Command['flags'][number]) => flags.includes(flag);
  const categories: readonly (readonly [string, boolean])[] = [
    ['@keyspace', group === 'generic'],
    ['@read', has('readonly')],
    ['@write', has('write')],
    ['@string', group === 'counter'],
    ['@quota', roleOf(command) === 'quota' || command.quotaSuffices === true],
    ['@admin', has('admin')],
    ['@fast', has('fast')],
    ['@slow', !has('fast')],
    ['@blocking', has('blocking')],
    ['@dangerous', roleOf(command) === 'admin'],
    ['@connection', group === 'connection' || group === 'cluster'],
    ['@transaction', group === 'transactions'],
    ['@scripting', group === 'scripting'],
  ];
  return categories.filter(([, belongs]) => belongs).map(([name]) => name);
}
