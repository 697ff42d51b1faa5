import type { Engine } from '@quotadb/engine';
import { Disk, type DiskOptions } from '../disk.js';
import type { Recovered } from '../recovery/recover.js';
import { makeEngine, START_MS } from './counters.js';
import type { FaultyFileSystem } from './faulty-file-system.js';

export const DIRECTORY = '/data';

export interface OpenDisk {
  readonly engine: Engine;
  readonly disk: Disk;
  readonly recovered: Recovered;
}

/** A disk that takes a snapshot only where it is asked to, with a small store unless `engine` is given. */
export async function openDisk(fileSystem: FaultyFileSystem, options: Partial<DiskOptions> = {}): Promise<OpenDisk> {
  const engine = options.engine ?? makeEngine();
  const opened = await Disk.open({
    directory: DIRECTORY,
    engine,
    fsync: 100,
    snapshotLogBytes: Number.POSITIVE_INFINITY,
    fileSystem,
    now: () => START_MS,
    ...options,
  });
  return { engine, ...opened };
}
