import { Mistake, parseSizeBytes } from '@quotadb/config';
import type { Command } from 'commander';
import { withProgress } from '../terminal/progress.js';
import { type Exit, Failure, runCommand } from '../terminal/run-command.js';

const EXAMPLES = `
Examples:
  $ quotadb repair --data ./data                   old files are kept in ./data/damaged-…
  $ quotadb repair --data ./data --new-incarnation when peers refuse an old copy of a data directory`;

interface RepairOptions {
  readonly data: string;
  readonly maxMemory: string;
  readonly newIncarnation?: boolean;
}

/** `quotadb repair`: salvages a data directory that the server refuses to start from, and reports the losses. */
export function repairCommand(program: Command, exit: Exit): void {
  program
    .command('repair')
    .description('salvage the whole parts of a damaged data directory, and list the losses')
    .requiredOption('--data <directory>', 'the data directory; no server may be using it')
    .option('--max-memory <size>', 'memory to work in; at least what the server had', '512mb')
    .option('--new-incarnation', 'start as a new incarnation: peers hold newer changes of this one than its disk does')
    .addHelpText('after', EXAMPLES)
    .action((options: RepairOptions) => runCommand(exit, () => runRepair(options)));
}

async function runRepair({ data: path, maxMemory, newIncarnation }: RepairOptions): Promise<undefined> {
  const maxMemoryBytes = parseSize(maxMemory);
  const { Engine } = await import('@quotadb/engine');
  const { loadFlock } = await import('@quotadb/server');
  const { DataDirectory, readIdentity, repair, writeIdentity } = await import('@quotadb/storage');
  const identity = readIdentity(path);
  if (identity === undefined) throw new Failure(`${path} is no data directory: there is no identity.json in it`);
  const { region, replicaId, shardCount, cluster = '' } = identity;
  const flock = loadFlock();
  const directory = DataDirectory.open({ path, region, cluster, replicaId, shardCount, keepIncarnation: true, flock });
  try {
    const nowMs = Date.now();
    const engine = Engine.format({ maxMemoryBytes, shardCount, origin: directory.origin, nowMs });
    const { losses, components, movedTo } = await withProgress(
      `reading ${path}`,
      repair({ directory: path, engine, nowMs, expectsManifest: identity.hasManifest === true && !identity.isBackup }),
    );
    for (const loss of losses)
      process.stdout.write(`lost: ${loss.path}, ${loss.bytes} bytes from byte ${loss.offset}: ${loss.reason}\n`);
    // After a loss peers may hold newer changes of this incarnation than its disk does.
    const isNewIncarnation = movedTo !== undefined || newIncarnation === true;
    writeIdentity(path, isNewIncarnation ? { ...identity, isBackup: true } : identity);
    process.stdout.write(
      movedTo === undefined
        ? `nothing is damaged: ${components} components read\n`
        : `salvaged: ${components} components, ${engine.keyCount()} keys; the old files are in ${movedTo}\n`,
    );
    if (isNewIncarnation)
      process.stdout.write('the next start is a new incarnation: peers send back what they hold of the old one\n');
  } finally {
    directory.close();
  }
}

function parseSize(text: string): number {
  try {
    return parseSizeBytes(text);
  } catch (error) {
    throw error instanceof Mistake ? new Mistake(`--max-memory: ${error.message}`) : error;
  }
}
