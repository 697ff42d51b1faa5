import { Mistake, parseSizeBytes } from '@quotadb/config';
import { Engine } from '@quotadb/engine';
import { loadFlock } from '@quotadb/server';
import { DataDirectory, readIdentity, repair, StorageError, writeIdentity } from '@quotadb/storage';
import { EXIT_FAILURE, EXIT_OK, EXIT_USAGE } from '../terminal/exit-codes.js';
import { withProgress } from '../terminal/progress.js';

/** Salvages a data directory that the server refuses to start from, and says what was lost. */
export async function runRepair(path: string, maxMemory: string, isNewIncarnation: boolean): Promise<number> {
  let maxMemoryBytes: number;
  try {
    maxMemoryBytes = parseSizeBytes(maxMemory);
  } catch (error) {
    if (!(error instanceof Mistake)) throw error;
    process.stderr.write(`quotadb: --max-memory: ${error.message}\n`);
    return EXIT_USAGE;
  }
  try {
    return await repairDirectory(path, maxMemoryBytes, isNewIncarnation);
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    process.stderr.write(`quotadb: ${error.message}\n`);
    return EXIT_FAILURE;
  }
}

async function repairDirectory(path: string, maxMemoryBytes: number, isNewIncarnation: boolean): Promise<number> {
  const identity = readIdentity(path);
  if (identity === undefined) throw new StorageError(`${path} is no data directory: there is no identity.json in it`);
  const { region, replicaId, shardCount } = identity;
  const directory = DataDirectory.open({
    path,
    region,
    cluster: identity.cluster ?? '',
    replicaId,
    shardCount,
    keepIncarnation: true,
    flock: loadFlock(),
  });
  try {
    const nowMs = Date.now();
    const engine = Engine.format({ maxMemoryBytes, shardCount, origin: directory.origin, nowMs });
    const { losses, components, movedTo } = await withProgress(
      `reading ${path}`,
      repair({ directory: path, engine, nowMs }),
    );
    for (const loss of losses) {
      process.stdout.write(`lost: ${loss.path}, ${loss.bytes} bytes from byte ${loss.offset}: ${loss.reason}\n`);
    }
    if (movedTo === undefined) {
      // As it was, whatever it was.
      writeIdentity(path, isNewIncarnation ? { ...identity, isBackup: true } : identity);
      process.stdout.write(`nothing is damaged: ${components} components read\n`);
    } else {
      // It may know less of itself than others do.
      writeIdentity(path, { ...identity, isBackup: true });
      process.stdout.write(
        `salvaged: ${components} components, ${engine.keyCount()} keys; the old files are in ${movedTo}\n`,
      );
    }
    if (movedTo !== undefined || isNewIncarnation) process.stdout.write(NEW_INCARNATION);
    return EXIT_OK;
  } finally {
    directory.close();
  }
}

const NEW_INCARNATION =
  'the next start is a new incarnation: what peers still hold of the old one comes back from them\n';
