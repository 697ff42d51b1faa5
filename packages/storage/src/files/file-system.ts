import { writeSync } from 'node:fs';
import { constants, type FileHandle, mkdir, open, readdir, rename, rm } from 'node:fs/promises';

/**
 * The operations that storage needs of a disk. Few, so that a test can implement a disk that loses unsynced bytes,
 * writes only half, or fails.
 */
export interface FileSystem {
  /** A new, empty file; one that is there already is an error. */
  create(path: string): Promise<WritableFile>;
  openForReading(path: string): Promise<ReadableFile>;
  truncate(path: string, length: number): Promise<void>;
  /** Returns when all that any process has written to the file is on disk. */
  sync(path: string): Promise<void>;
  list(directory: string): Promise<string[]>;
  rename(from: string, to: string): Promise<void>;
  remove(path: string): Promise<void>;
  makeDirectory(path: string): Promise<void>;
  /** Makes creations, renames and removals in it survive a power failure. */
  syncDirectory(path: string): Promise<void>;
}

export interface WritableFile {
  /** With it other threads can write to the file too; undefined where only this object can. */
  readonly descriptor?: number;
  /** Where the next append goes: after the last one, unless other threads have written meanwhile. */
  position?: number;
  /** Writes all bytes at `position`. */
  append(bytes: Uint8Array): Promise<void>;
  /** Returns when everything appended is on disk. */
  sync(): Promise<void>;
  truncate(length: number): Promise<void>;
  close(): Promise<void>;
}

export interface ReadableFile {
  readonly size: number;
  /** Fills the target from this offset of the file; returns how many bytes there were. */
  read(target: Uint8Array, position: number): Promise<number>;
  close(): Promise<void>;
}

export const nodeFileSystem: FileSystem = {
  create: async (path) => new NodeFile(await open(path, 'wx', 0o640)),
  openForReading: async (path) => {
    const handle = await open(path, 'r');
    return new NodeReadableFile(handle, (await handle.stat()).size);
  },
  truncate: async (path, length) => {
    const handle = await open(path, 'r+');
    try {
      await handle.truncate(length);
      await handle.sync();
    } finally {
      await handle.close();
    }
  },
  sync: async (path) => {
    const handle = await open(path, 'r+');
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  },
  list: (directory) => readdir(directory),
  rename,
  remove: (path) => rm(path, { force: true }),
  makeDirectory: async (path) => {
    await mkdir(path, { recursive: true, mode: 0o750 });
  },
  syncDirectory: async (path) => {
    // Elsewhere than on POSIX systems directories cannot be opened, and need no syncing.
    if (process.platform === 'win32') return;
    const handle = await open(path, constants.O_RDONLY);
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  },
};

/**
 * Up to this length bytes are written on this thread and not on one of the pool: the system only copies them, which
 * takes microseconds, while the way to the pool and back takes tens of them.
 */
const SMALL_WRITE_BYTES = 256 * 1024;

class NodeFile implements WritableFile {
  position = 0;
  readonly descriptor: number;
  private readonly handle: FileHandle;

  constructor(handle: FileHandle) {
    this.handle = handle;
    this.descriptor = handle.fd;
  }

  async append(bytes: Uint8Array): Promise<void> {
    const isSmall = bytes.length <= SMALL_WRITE_BYTES;
    for (let done = 0; done < bytes.length; ) {
      const bytesWritten = isSmall
        ? writeSync(this.handle.fd, bytes, done, bytes.length - done, this.position)
        : (await this.handle.write(bytes, done, bytes.length - done, this.position)).bytesWritten;
      done += bytesWritten;
      this.position += bytesWritten;
    }
  }

  sync(): Promise<void> {
    return this.handle.datasync();
  }

  async truncate(length: number): Promise<void> {
    await this.handle.truncate(length);
    this.position = length;
  }

  close(): Promise<void> {
    return this.handle.close();
  }
}

class NodeReadableFile implements ReadableFile {
  readonly size: number;
  private readonly handle: FileHandle;

  constructor(handle: FileHandle, size: number) {
    this.handle = handle;
    this.size = size;
  }

  async read(target: Uint8Array, position: number): Promise<number> {
    let done = 0;
    while (done < target.length) {
      const { bytesRead } = await this.handle.read(target, done, target.length - done, position + done);
      if (bytesRead === 0) break;
      done += bytesRead;
    }
    return done;
  }

  close(): Promise<void> {
    return this.handle.close();
  }
}
