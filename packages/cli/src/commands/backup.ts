import { resolve } from 'node:path';
import type { Command } from 'commander';
import { withClient } from '../client/resp-client.js';
import { withProgress } from '../terminal/progress.js';
import { type Exit, runCommand } from '../terminal/run-command.js';
import { type TargetOptions, targetOf, withTarget } from '../terminal/targets.js';

const EXAMPLES = `
Examples:
  $ quotadb backup --to /backups/$(date +%F)
  $ quotadb serve --data /backups/2026-01-31       starts from it, as a new incarnation`;

/** `quotadb backup`: asks a running server, on this machine, to write all its data into a directory. */
export function backupCommand(program: Command, exit: Exit): void {
  withTarget(program.command('backup'))
    .description('write everything that a running server holds into a directory, from which another can start')
    .requiredOption('--to <directory>', 'an empty or a new directory, on the machine of the server')
    .addHelpText('after', EXAMPLES)
    .action((options: TargetOptions & { to: string }) =>
      runCommand(exit, async () => {
        const path = resolve(options.to);
        await withClient(targetOf(options), (client) =>
          withProgress(`writing a backup to ${path}`, client.text('BACKUP', path)),
        );
        process.stdout.write(`${path} holds a backup; "quotadb serve --data ${path}" starts from it\n`);
        return undefined;
      }),
    );
}
