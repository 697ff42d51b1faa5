import { dirname } from 'node:path';
import type { FileSystem, ReadableFile, WritableFile } from '../files/file-system.js';

type Operation = 'create' | 'append' | 'sync' | 'rename' | 'remove' | 'truncate' | 'syncDirectory';

interface StoredFile {
  content: Uint8Array;
  /** Bytes that a power failure leaves for certain; of later ones any part may be there. */
  synced: number;
}

/**
 * A disk in memory that keeps no more promises than a real one: unsynced bytes and names may be lost, writes end
 * half-way, operations fail, and all of them after a given number.
 */
export class FaultyFileSystem implements FileSystem {
  operations = 0;
  /** After this many operations the power is gone. */
  stopsAfter = Number.POSITIVE_INFINITY;
  /** Asked before every operation; an error returned makes it fail. */
  fault: (operation: Operation, path: string) => NodeJS.ErrnoException | undefined = () => undefined;
  /** Part of what an append that fails gets written all the same. */
  shortWriteFraction = 0;
  /** How many turns of the event loop an operation takes; others do things meanwhile. */
  turns: () => number = () => 1;
  private files = new Map<string, StoredFile>();
  /** Names as they are on disk. */
  private durableNames = new Map<string, StoredFile>();
  /** Syncs of the directory that have begun, and the latest of those that have ended. */
  private directorySyncs = 0;
  private directorySynced = 0;

  /** The disk after a power failure now, with `fraction` of the unsynced bytes. */
  afterPowerFailure(fraction: () => number): FaultyFileSystem {
    const left = new FaultyFileSystem();
    for (const [name, file] of this.durableNames) {
      const kept = file.synced + Math.floor((file.content.length - file.synced) * fraction());
      left.files.set(name, { content: file.content.slice(0, kept), synced: kept });
    }
    left.durableNames = new Map(left.files);
    return left;
  }

  /** The process ended, the system did not: everything written is there, and what was not synced still is not. */
  afterProcessEnd(): FaultyFileSystem {
    const left = new FaultyFileSystem();
    const copies = new Map([...this.files.values()].map((file) => [file, { ...file, content: file.content.slice() }]));
    for (const [name, file] of this.files) left.files.set(name, copies.get(file) as StoredFile);
    for (const [name, file] of this.durableNames) {
      const copy = copies.get(file);
      if (copy !== undefined) left.durableNames.set(name, copy);
    }
    return left;
  }

  get names(): string[] {
    return [...this.files.keys()].sort();
  }

  contentOf(path: string): Uint8Array {
    return this.find(path).content;
  }

  put(path: string, content: Uint8Array): void {
    const file = { content, synced: content.length };
    this.files.set(path, file);
    this.durableNames.set(path, file);
  }

  async create(path: string): Promise<WritableFile> {
    await this.step('create', path);
    if (this.files.has(path)) throw errorOf('EEXIST');
    const file: StoredFile = { content: new Uint8Array(0), synced: 0 };
    this.files.set(path, file);
    return {
      append: async (bytes) => {
        try {
          await this.step('append', path);
        } catch (error) {
          grow(file, bytes.subarray(0, Math.floor(bytes.length * this.shortWriteFraction)));
          throw error;
        }
        grow(file, bytes);
      },
      sync: async () => {
        const { length } = file.content;
        await this.step('sync', path);
        file.synced = Math.max(file.synced, Math.min(length, file.content.length));
      },
      truncate: async (length) => {
        await this.step('truncate', path);
        file.content = file.content.slice(0, length);
        file.synced = Math.min(file.synced, length);
      },
      close: async () => {},
    };
  }

  async openForReading(path: string): Promise<ReadableFile> {
    const { content } = this.find(path);
    return {
      size: content.length,
      read: async (target, position) => {
        const bytes = content.subarray(position, position + target.length);
        target.set(bytes);
        return bytes.length;
      },
      close: async () => {},
    };
  }

  async truncate(path: string, length: number): Promise<void> {
    await this.step('truncate', path);
    const file = this.find(path);
    file.content = file.content.slice(0, length);
    file.synced = length;
  }

  async sync(path: string): Promise<void> {
    const file = this.find(path);
    const { length } = file.content;
    await this.step('sync', path);
    file.synced = Math.max(file.synced, Math.min(length, file.content.length));
  }

  async list(directory: string): Promise<string[]> {
    return this.names.filter((name) => dirname(name) === directory).map((name) => name.slice(directory.length + 1));
  }

  async rename(from: string, to: string): Promise<void> {
    await this.step('rename', from);
    this.files.set(to, this.find(from));
    this.files.delete(from);
  }

  async remove(path: string): Promise<void> {
    await this.step('remove', path);
    this.files.delete(path);
  }

  async makeDirectory(): Promise<void> {}

  async syncDirectory(path: string): Promise<void> {
    const names = new Map(this.files);
    const order = ++this.directorySyncs;
    await this.step('syncDirectory', path);
    if (order < this.directorySynced) return;
    this.directorySynced = order;
    this.durableNames = names;
  }

  private async step(operation: Operation, path: string): Promise<void> {
    for (let turn = this.turns(); turn > 0; turn--) await new Promise((resolve) => setImmediate(resolve));
    if (++this.operations > this.stopsAfter) throw errorOf('EPOWER');
    const error = this.fault(operation, path);
    if (error !== undefined) throw error;
  }

  private find(path: string): StoredFile {
    const file = this.files.get(path);
    if (file === undefined) throw errorOf('ENOENT');
    return file;
  }
}

export function errorOf(code: string): NodeJS.ErrnoException {
  return Object.assign(new Error(code), { code });
}

function grow(file: StoredFile, bytes: Uint8Array): void {
  const content = new Uint8Array(file.content.length + bytes.length);
  content.set(file.content);
  content.set(bytes, file.content.length);
  file.content = content;
}
