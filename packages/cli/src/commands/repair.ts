import { settings } from '@quotadb/config';
import type { Command } from 'commander';
import { printJson } from '../terminal/json-output.js';
import { parseIn } from '../terminal/parse-in.js';
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
  readonly json?: boolean;
}

/** `quotadb repair`: salvages a data directory that the server refuses to start from, and reports the losses. */
export function repairCommand(program: Command, exit: Exit): void {
  program
    .command('repair')
    .description('salvage the whole parts of a damaged data directory, and list the losses')
    .requiredOption('--data <directory>', 'the data directory; no server may be using it')
    .option('--max-memory <size>', 'memory to work in; at least what the server had', '512mb')
    .option('--new-incarnation', 'start as a new incarnation: peers hold newer changes of this one than its disk does')
    .option('--json', 'the report as JSON')
    .addHelpText('after', EXAMPLES)
    .action((options: RepairOptions) => runCommand(exit, () => runRepair(options)));
}

async function runRepair({ data: path, maxMemory, newIncarnation, json }: RepairOptions): Promise<undefined> {
  const maxMemoryBytes = parseIn('--max-memory', settings.maxMemoryBytes.kind, maxMemory);
  const { Engine } = await import('@quotadb/engine');
  const { loadFlock } = await import('@quotadb/server');
  const { DataDirectory, canCarryOver, readIdentity, readOldCopy, removeOldCopy, repair, writeIdentity } = await import(
    '@quotadb/storage'
  );
  const identity = readIdentity(path);
  if (identity === undefined) throw new Failure(`${path} is no data directory: there is no identity.json in it`);
  const { region, replicaId, shardCount, cluster = '' } = identity;
  const flock = loadFlock();
  const asFound = { keepIncarnation: true, keepOldCopy: true };
  const directory = DataDirectory.open({ path, region, cluster, replicaId, shardCount, ...asFound, flock });
  try {
    const nowMs = Date.now();
    const engine = Engine.format({ maxMemoryBytes, shardCount, origin: directory.origin, nowMs });
    const { losses, components, movedTo } = await withProgress(
      `reading ${path}`,
      repair({ directory: path, engine, nowMs, expectsManifest: identity.hasManifest === true && !identity.isBackup }),
    );
    // After a loss peers may hold newer changes of this incarnation than its disk does.
    const hasLosses = movedTo !== undefined;
    // Where peers have shown that it is an old copy, the next start carries its counts over.
    const oldCopy = hasLosses ? undefined : readOldCopy(path, replicaId + identity.incarnation);
    const isCarriedOver = oldCopy !== undefined && (await canCarryOver(path, oldCopy, engine));
    const isNewIncarnation = hasLosses || (newIncarnation === true && !isCarriedOver);
    if (isNewIncarnation) removeOldCopy(path);
    writeIdentity(path, isNewIncarnation ? { ...identity, isBackup: true } : identity);
    const report = { losses, components, keys: engine.keyCount(), movedTo, isNewIncarnation, isCarriedOver };
    if (json) printJson({ ...report, movedTo: movedTo ?? null });
    else process.stdout.write(`${inWords(report).join('\n')}\n`);
  } finally {
    directory.close();
  }
}

interface Report {
  readonly losses: readonly { path: string; bytes: number; offset: number; reason: string }[];
  readonly components: number;
  readonly keys: number;
  readonly movedTo: string | undefined;
  readonly isNewIncarnation: boolean;
  readonly isCarriedOver: boolean;
}

function inWords({ losses, components, keys, movedTo, isNewIncarnation, isCarriedOver }: Report): string[] {
  return [
    ...losses.map(({ path, bytes, offset, reason }) => `lost: ${path}, ${bytes} bytes from byte ${offset}: ${reason}`),
    movedTo === undefined
      ? `nothing is damaged: ${components} components read`
      : `salvaged: ${components} components, ${keys} keys; the old files are in ${movedTo}`,
    ...(isNewIncarnation ? ['the next start is a new incarnation: peers send back what they hold of the old one'] : []),
    ...(isCarriedOver ? ['the next start is a new incarnation that has the counts of both copies'] : []),
  ];
}
