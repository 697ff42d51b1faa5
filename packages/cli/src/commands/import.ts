import type { Command } from 'commander';
import { type RespClient, type Target, withClient } from '../client/resp-client.js';
import { copyCounters, type ImportOptions, type Report } from '../import/copy-counters.js';
import { EXIT_FAILURE, EXIT_OK } from '../terminal/exit-codes.js';
import { type Exit, runCommand } from '../terminal/run-command.js';
import { namedTarget, type TargetOptions, targetOf, withTarget } from '../terminal/targets.js';

/** The password of the source: an environment variable does not show in the list of processes. */
const PASSWORD_VARIABLE = 'QUOTADB_FROM_PASSWORD';

const EXAMPLES = `
Examples:
  $ quotadb import --from 127.0.0.1:6379 --dry-run
  $ quotadb import --from 127.0.0.1:6379 --match 'hits:*'     can be run again: values are set
  $ quotadb import --from redis.internal:6379 --add           after clients have moved: what they counted here stays`;

interface Flags extends TargetOptions, ImportOptions {
  readonly from: string;
  readonly fromUser?: string;
  readonly fromTls?: boolean;
  readonly fromTlsCa?: string;
  readonly json?: boolean;
}

/** `quotadb import`: copies the counters of a Redis, or of another QuotaDB, without changing them there. */
export function importCommand(program: Command, exit: Exit): void {
  withTarget(program.command('import'))
    .description('copy the counters of a Redis, with their expiries, into a running server')
    .requiredOption('--from <host:port>', 'the Redis; nothing is changed there')
    .option('--from-user <name>', `its user; the password comes from ${PASSWORD_VARIABLE}`)
    .option('--from-tls', 'reach it by TLS')
    .option('--from-tls-ca <file>', 'the authority that signed its certificate')
    .option('--match <pattern>', 'only keys of this pattern', '*')
    .option('--add', 'add to the values here, instead of setting them; once only')
    .option('--dry-run', 'report what would be copied, and write nothing')
    .option('--json', 'the report as JSON')
    .addHelpText('after', EXAMPLES)
    .action((flags: Flags) =>
      runCommand(exit, () =>
        withClient(sourceOf(flags), (source) =>
          withClient(targetOf(flags), async (target) => {
            const report = await copyCounters(source, target, flags);
            process.stdout.write(`${flags.json ? JSON.stringify(report) : inWords(report, source, target, flags)}\n`);
            return report.outOfRange === 0 ? EXIT_OK : EXIT_FAILURE;
          }),
        ),
      ),
    );
}

function sourceOf({ from, fromUser, fromTls, fromTlsCa }: Flags): Target {
  const { tls, ...named } = namedTarget(from, { host: '127.0.0.1', resp: '6379' });
  const isSecure = fromTls === true || fromTlsCa !== undefined;
  return {
    ...named,
    user: fromUser,
    password: process.env[PASSWORD_VARIABLE],
    tls: isSecure ? { authority: fromTlsCa } : tls,
    advice: '--from names the Redis that has the counters',
  };
}

function inWords(report: Report, source: RespClient, target: RespClient, { add, dryRun }: ImportOptions): string {
  const done = dryRun ? 'could be copied' : add ? 'added' : 'copied';
  const left = [
    [report.otherKinds, 'no strings'],
    [report.noIntegers, 'no 64-bit integers'],
    [report.tooLong, 'keys of more than 65536 bytes'],
    [report.outOfRange, 'the sum would leave 64 bits'],
  ] as const;
  return [
    `${report.counters} counters ${done}, ${report.expiring} of them with an expiry: ${source.where} → ${target.where}`,
    ...left.filter(([count]) => count > 0).map(([count, why]) => `left out, ${why}: ${count}`),
  ].join('\n');
}
