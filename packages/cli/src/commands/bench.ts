import type { Command } from 'commander';
import { loadOptionalPackage } from '../terminal/optional-package.js';
import { type Exit, runCommand } from '../terminal/run-command.js';

/** `quotadb bench`: its flags and its help are those of @quotadb/bench. */
export function benchCommand(program: Command, exit: Exit): void {
  program
    .command('bench')
    .description('measure this server side by side with Redis')
    .helpOption(false)
    .allowUnknownOption()
    .argument('[flag...]')
    .action((_flags, _options, command: Command) =>
      runCommand(exit, async () => {
        const { runBench } = await loadOptionalPackage('bench', '@quotadb/bench', () => import('@quotadb/bench'));
        return runBench([...command.args]);
      }),
    );
}
