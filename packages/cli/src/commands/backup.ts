import { resolve } from 'node:path';
import { settings } from '@quotadb/config';
import { memberOfServer, regionOfServer } from '@quotadb/wire';
import type { Command } from 'commander';
import { checked, type RespClient, withClient } from '../client/resp-client.js';
import { printJson } from '../terminal/json-output.js';
import { commandLine } from '../terminal/next-step.js';
import { withProgress } from '../terminal/progress.js';
import { type Exit, runCommand } from '../terminal/run-command.js';
import { type TargetOptions, targetOf, withTarget } from '../terminal/targets.js';

const EXAMPLES = `
Examples:
  $ quotadb backup --to $(date +%F)                in the directory --backup-dir of the server
  $ quotadb serve --data DATA/backups/2026-01-31   starts from it, as a new incarnation`;

/** `quotadb backup`: asks a running server, on this machine, to write all its data into a directory. */
export function backupCommand(program: Command, exit: Exit): void {
  withTarget(program.command('backup'))
    .description('write everything that a running server holds into a directory, from which another can start')
    .requiredOption(
      '--to <name>',
      'a new directory in the --backup-dir of the server, which is "backups" in its --data',
    )
    .addHelpText('after', EXAMPLES)
    .option('--json', 'as JSON')
    .action((options: TargetOptions & { to: string; json?: boolean }) =>
      runCommand(exit, async () => {
        const path = await withClient(targetOf(options), async (client) => {
          await withProgress(`writing the backup ${options.to}`, client.text('BACKUP', options.to));
          return resolve(await backupDirectory(client), options.to);
        });
        const next = await nextStep(path);
        if (options.json) printJson({ path, next: next ?? null });
        else process.stdout.write(`${path} holds a backup\n${next === undefined ? '' : `next: ${next}\n`}`);
        return undefined;
      }),
    );
}

async function backupDirectory(client: RespClient): Promise<string> {
  const reply = checked(await client.call('CONFIG', 'GET', 'backup-dir'));
  const value = reply.kind === 'map' ? reply.entries[0]?.[1] : reply.kind === 'array' ? reply.items[1] : undefined;
  return value !== undefined && 'text' in value ? value.text : '';
}

/**
 * Starts a server from the backup, on free ports, because the one that it was taken of runs. Undefined where the backup
 * is not on this machine.
 */
async function nextStep(path: string): Promise<string | undefined> {
  const { readIdentity } = await import('@quotadb/storage');
  const identity = readIdentity(path);
  if (identity === undefined) return undefined;
  const { region, cluster = settings.cluster.default, shardCount } = identity;
  const given = [
    ['--region', regionOfServer(region), settings.region.default],
    ['--member', memberOfServer(region), settings.member.default],
    ['--cluster', cluster, settings.cluster.default],
    ['--shards', String(shardCount), String(settings.shardCount.default)],
  ];
  const needed = given.flatMap(([flag, value, standard]) => (value === standard ? [] : [flag, value]));
  return commandLine('serve', '--data', path, ...needed, '--resp', '0', '--http', '0', '--repl', '0');
}
