import { type FileSystem, nodeFileSystem, type WritableFile } from '@quotadb/storage';

/** The real disk, whose syncs wait while it is held, and whose writes fail while `error` is set. */
export class HeldDisk implements FileSystem {
  syncs = 0;
  /** How many syncs wait. */
  waiting = 0;
  /** The error of every write and sync. */
  error: Error | undefined = undefined;
  private gate: Promise<void> = Promise.resolve();
  private open: () => void = () => {};

  readonly openForReading: FileSystem['openForReading'] = nodeFileSystem.openForReading;
  readonly truncate: FileSystem['truncate'] = nodeFileSystem.truncate;
  readonly sync: FileSystem['sync'] = nodeFileSystem.sync;
  readonly list: FileSystem['list'] = nodeFileSystem.list;
  readonly rename: FileSystem['rename'] = nodeFileSystem.rename;
  readonly remove: FileSystem['remove'] = nodeFileSystem.remove;
  readonly makeDirectory: FileSystem['makeDirectory'] = nodeFileSystem.makeDirectory;
  readonly syncDirectory: FileSystem['syncDirectory'] = nodeFileSystem.syncDirectory;

  hold(): void {
    this.gate = new Promise((resolve) => {
      this.open = resolve;
    });
  }

  release(): void {
    this.open();
    this.gate = Promise.resolve();
  }

  async create(path: string): Promise<WritableFile> {
    if (this.error !== undefined) throw this.error;
    const file = await nodeFileSystem.create(path);
    return {
      append: async (bytes) => {
        if (this.error !== undefined) throw this.error;
        await file.append(bytes);
      },
      sync: async () => {
        this.waiting++;
        await this.gate;
        this.waiting--;
        if (this.error !== undefined) throw this.error;
        await file.sync();
        this.syncs++;
      },
      truncate: (length) => file.truncate(length),
      close: () => file.close(),
    };
  }
}
