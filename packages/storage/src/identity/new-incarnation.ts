import { carryOver, Engine, OWN_ORIGIN } from '@quotadb/engine';
import { StorageError } from '../files/errors.js';
import { type FileSystem, nodeFileSystem } from '../files/file-system.js';
import { type Recovered, type RecoveryOptions, recover } from '../recovery/recover.js';
import { viewOfStart } from './kept-files.js';
import type { OldCopy } from './old-copy.js';

/**
 * Recovers an old copy into a store of the next incarnation: the old one is put back to the start at which the
 * directory was found as both copies had it, and the new one carries all changes that were made here since (carryOver).
 *
 * The files stay as they are: the caller replaces them by a snapshot of this store, then writes the identity. A crash
 * before that repeats all of it.
 */
export async function recoverAsNewIncarnation(options: RecoveryOptions, oldCopy: OldCopy): Promise<Recovered> {
  const { fileSystem, directory, engine: target, nowMs } = options;
  const current = emptyStore(target, oldCopy.origin, nowMs);
  const recovered = await recover({ ...options, engine: current });
  const base = await recoverBase(fileSystem, directory, oldCopy, target);
  const carried = carryOver({ base, current, target });
  if (carried === -1)
    throw new StorageError('the data on disk does not fit into memory: start with a larger --max-memory');
  return { ...recovered, carried };
}

/** Whether the next start can make the directory a new incarnation: the files that it needs are there, and whole. */
export async function canCarryOver(directory: string, oldCopy: OldCopy, like: Engine): Promise<boolean> {
  try {
    await recoverBase(nodeFileSystem, directory, oldCopy, like);
    return true;
  } catch (error) {
    if (error instanceof StorageError) return false;
    throw error;
  }
}

/** The store as the start of an old copy found it. */
async function recoverBase(
  fileSystem: FileSystem,
  directory: string,
  { origin, base, versions }: OldCopy,
  like: Engine,
): Promise<Engine> {
  const engine = emptyStore(like, origin, like.nowMs);
  let reason = 'a file is missing';
  try {
    const view = await viewOfStart(fileSystem, directory, base);
    await recover({ fileSystem: view, directory, engine, nowMs: like.nowMs });
    if (versions.every((version, shard) => version === engine.seen(shard, OWN_ORIGIN))) return engine;
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    reason = error.message;
  }
  throw new StorageError(
    `${directory} is an old copy, and the files that it was started from cannot be read any more, also not in its ` +
      `folder kept (${reason}). Run quotadb repair --new-incarnation: where both copies have changed a key, the ` +
      'counts of one of them are lost then',
  );
}

function emptyStore(like: Engine, origin: string, nowMs: number): Engine {
  return Engine.format({
    maxMemoryBytes: like.buffer.byteLength,
    shardCount: like.shardCount,
    origin: Buffer.from(origin, 'hex'),
    nowMs,
  });
}
