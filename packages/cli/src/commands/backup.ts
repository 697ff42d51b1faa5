import { resolve } from 'node:path';
import type { Command } from 'commander';
import { checked, type RespClient, withClient } from '../client/resp-client.js';
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
    .action((options: TargetOptions & { to: string }) =>
      runCommand(exit, async () => {
        const path = await withClient(targetOf(options), async (client) => {
          await withProgress(`writing the backup ${options.to}`, client.text('BACKUP', options.to));
          return resolve(await backupDirectory(client), options.to);
        });
        process.stdout.write(`${path} holds a backup; "quotadb serve --data ${path}" starts from it\n`);
        return undefined;
      }),
    );
}

async function backupDirectory(client: RespClient): Promise<string> {
  const reply = checked(await client.call('CONFIG', 'GET', 'backup-dir'));
  const value = reply.kind === 'map' ? reply.entries[0]?.[1] : reply.kind === 'array' ? reply.items[1] : undefined;
  return value !== undefined && 'text' in value ? value.text : '';
}
