import { basename, dirname, join } from 'node:path';
import { type DataFiles, findDataFiles, logPath, snapshotPath } from '../files/file-names.js';
import type { FileSystem, ReadableFile, WritableFile } from '../files/file-system.js';
import type { LogPlace } from './old-copy.js';

/** The folder for files that a later snapshot has taken the place of. */
const FOLDER = 'kept';

/**
 * The files that a start has read, as long as it may turn out that the directory is an old copy: its new incarnation
 * goes on from the state that they hold. Where a snapshot takes their place they are moved into a folder, so that
 * recovery and repair do not come across them.
 */
export class KeptFiles {
  private readonly fileSystem: FileSystem;
  private readonly directory: string;
  /** By the first segment of each start. */
  private starts: readonly number[] = [];
  /** Settled when no work on the folder is under way. */
  private working: Promise<unknown> = Promise.resolve();

  constructor(fileSystem: FileSystem, directory: string) {
    this.fileSystem = fileSystem;
    this.directory = directory;
  }

  /** From now on the files of these starts are kept, and no others. */
  retain(starts: readonly number[]): Promise<void> {
    this.starts = starts;
    return this.alone(() => this.removeOthers());
  }

  /** A snapshot has taken the place of these files: each is removed, or moved. */
  giveUp(paths: readonly string[]): Promise<void> {
    return this.alone(() => this.move(paths));
  }

  private alone(work: () => Promise<void>): Promise<void> {
    const done = this.working.then(work);
    this.working = done.catch(() => {});
    return done;
  }

  private async removeOthers(): Promise<void> {
    const { fileSystem } = this;
    const folder = join(this.directory, FOLDER);
    const isNeeded = this.neededBy(await findBoth(fileSystem, this.directory));
    for (const path of await pathsIn(fileSystem, folder)) if (!isNeeded(path)) await fileSystem.remove(path);
  }

  private async move(paths: readonly string[]): Promise<void> {
    const { fileSystem, directory } = this;
    const isNeeded = this.neededBy(await findBoth(fileSystem, directory));
    const folder = join(directory, FOLDER);
    const kept = paths.filter(isNeeded);
    if (kept.length > 0) await fileSystem.makeDirectory(folder);
    for (const path of kept) await fileSystem.rename(path, join(folder, basename(path)));
    if (kept.length > 0) await fileSystem.syncDirectory(folder);
    for (const path of paths) if (!isNeeded(path)) await fileSystem.remove(path);
  }

  private neededBy(files: DataFiles): (path: string) => boolean {
    const names = new Set<string>();
    for (const start of this.starts) {
      const { snapshots, logs } = filesOf(files, start);
      for (const number of snapshots) names.add(basename(snapshotPath('', number)));
      for (const number of logs) names.add(basename(logPath('', number)));
    }
    return (path) => names.has(basename(path));
  }
}

/** Those of all files that a start with this first segment has read. */
function filesOf({ snapshots, logs }: DataFiles, start: number): DataFiles {
  const newest = snapshots.filter((number) => number <= start).slice(-1);
  const [first = 1] = newest;
  return { snapshots: newest, logs: logs.filter((number) => number >= first && number < start), unfinished: [] };
}

async function pathsIn(fileSystem: FileSystem, folder: string): Promise<string[]> {
  const names = await fileSystem.list(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  return names.map((name) => join(folder, name));
}

/** The files in the directory and in the folder. */
async function findBoth(fileSystem: FileSystem, directory: string): Promise<DataFiles> {
  const here = await findDataFiles(fileSystem, directory);
  const folder = join(directory, FOLDER);
  if ((await pathsIn(fileSystem, folder)).length === 0) return here;
  const there = await findDataFiles(fileSystem, folder);
  const merged = (one: readonly number[], other: readonly number[]) =>
    [...new Set([...one, ...other])].sort((a, b) => a - b);
  return { logs: merged(here.logs, there.logs), snapshots: merged(here.snapshots, there.snapshots), unfinished: [] };
}

/** The directory as a start found it. Nothing in it can be changed: attempts do nothing. */
export async function viewOfStart(fileSystem: FileSystem, directory: string, base: LogPlace): Promise<FileSystem> {
  const { snapshots, logs } = filesOf(await findBoth(fileSystem, directory), base.segment);
  const names = [
    ...snapshots.map((number) => basename(snapshotPath('', number))),
    ...logs.map((number) => basename(logPath('', number))),
  ];
  const last = basename(logPath('', base.segment - 1));
  const moved = new Set((await pathsIn(fileSystem, join(directory, FOLDER))).map((path) => basename(path)));
  const nothing = async (): Promise<void> => {};
  return {
    list: async () => names,
    openForReading: async (path) => {
      const name = basename(path);
      const file = await fileSystem.openForReading(moved.has(name) ? join(dirname(path), FOLDER, name) : path);
      // Later bytes were given up at that start.
      return name === last ? shortened(file, base.previousEnd) : file;
    },
    create: async (): Promise<WritableFile> => ({ append: nothing, sync: nothing, truncate: nothing, close: nothing }),
    truncate: nothing,
    sync: nothing,
    rename: nothing,
    remove: nothing,
    makeDirectory: nothing,
    syncDirectory: nothing,
  };
}

function shortened(file: ReadableFile, bytes: number): ReadableFile {
  const size = Math.min(file.size, bytes);
  return {
    size,
    read: async (target, position) =>
      position >= size ? 0 : file.read(target.subarray(0, Math.min(target.length, size - position)), position),
    close: () => file.close(),
  };
}
