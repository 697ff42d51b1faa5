import { Command } from 'commander';
import { guarded, namedTarget, type TargetOptions, targetOf, withTarget } from '../terminal/targets.js';
import type { ImportOptions } from './run-import.js';

/** The password of the source, out of the list of processes. */
const PASSWORD_VARIABLE = 'QUOTADB_FROM_PASSWORD';

interface Flags extends TargetOptions, ImportOptions {
  readonly from: string;
  readonly fromUser?: string;
  readonly fromTls?: boolean;
  readonly fromTlsCa?: string;
}

/** `quotadb import`: the way in from Redis. */
export function importCommand(onExitCode: (code: number) => void): Command {
  return withTarget(new Command('import'))
    .description('copy the counters of a Redis, with their expiries, into a running server')
    .requiredOption('--from <host:port>', 'the Redis; nothing is changed there')
    .option('--from-user <name>', `its user; the password comes from ${PASSWORD_VARIABLE}`)
    .option('--from-tls', 'reach it by TLS')
    .option('--from-tls-ca <file>', 'the authority that its certificate must be of')
    .option('--match <pattern>', 'only keys of this pattern', '*')
    .option('--add', 'add to what is counted here already, instead of setting it; once only')
    .option('--dry-run', 'look and tell, and write nothing')
    .option('--json', 'the report as JSON')
    .addHelpText(
      'after',
      `
Examples:
  $ quotadb import --from 127.0.0.1:6379 --dry-run
  $ quotadb import --from 127.0.0.1:6379 --match 'hits:*'     can be run again: values are set
  $ quotadb import --from redis.internal:6379 --add           after clients have moved: what they counted here stays`,
    )
    .action(async (flags: Flags) => {
      const { runImport } = await import('./run-import.js');
      onExitCode(await guarded(() => runImport(sourceOf(flags), targetOf(flags), flags)));
    });
}

function sourceOf({ from, fromUser, fromTls, fromTlsCa }: Flags) {
  const { tls, ...named } = namedTarget(from, { host: '127.0.0.1', resp: '6379' });
  const isSecure = fromTls === true || fromTlsCa !== undefined;
  return {
    ...named,
    user: fromUser,
    password: process.env[PASSWORD_VARIABLE],
    tls: isSecure ? { authority: fromTlsCa } : tls,
  };
}
