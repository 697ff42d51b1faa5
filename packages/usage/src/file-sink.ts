import { closeSync, fsyncSync, openSync, readFileSync, readSync, renameSync, statSync, writeSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { writeWholeFile } from '@quotadb/storage';
import type { Sink } from './sink.js';
import type { UsageEvent } from './usage-event.js';

export interface FileSinkOptions {
  readonly path: string;
  /** The folder of the cursor. */
  readonly directory: string;
  /** A file that has grown beyond this is renamed, and a new one begun. */
  readonly rotateBytes: number;
  readonly nowMs: () => number;
}

/** Where the events of a number begin in the file: on disk before the first of them is. */
interface Cursor {
  readonly path: string;
  readonly number: number;
  readonly offset: number;
}

const CURSOR = 'file-cursor.json';

/**
 * Appends events as lines. Each is in the file once, also when the process is killed at any moment: the next one finds
 * in the cursor where the events began, and appends those bytes of them that are missing.
 */
export class FileSink implements Sink {
  private readonly options: FileSinkOptions;

  constructor(options: FileSinkOptions) {
    this.options = options;
  }

  async deliver(number: number, events: readonly UsageEvent[]): Promise<void> {
    const { path, directory } = this.options;
    const content = Buffer.from(events.map((event) => `${JSON.stringify(event)}\n`).join(''));
    const cursor = this.readCursor();
    const isSame = cursor?.number === number && cursor.path === path;
    const written = isSame ? this.writtenSince(cursor.offset, content) : 0;
    if (!isSame) {
      this.rotate();
      writeWholeFile(directory, CURSOR, JSON.stringify({ path, number, offset: sizeOf(path) }));
    }
    append(path, content.subarray(written));
  }

  private readCursor(): Cursor | undefined {
    try {
      return JSON.parse(readFileSync(join(this.options.directory, CURSOR), 'utf8'));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
  }

  /** The bytes of the content that are in the file; 0 where the file is another one by now. */
  private writtenSince(offset: number, content: Buffer): number {
    const { path } = this.options;
    const length = Math.min(sizeOf(path) - offset, content.length);
    if (length <= 0) return 0;
    const there = Buffer.alloc(length);
    const file = openSync(path, 'r');
    try {
      readSync(file, there, 0, length, offset);
    } finally {
      closeSync(file);
    }
    return there.equals(content.subarray(0, length)) ? length : 0;
  }

  private rotate(): void {
    const { path, rotateBytes, nowMs } = this.options;
    if (sizeOf(path) < rotateBytes) return;
    const time = new Date(nowMs()).toISOString().replaceAll(/[-:.]/g, '');
    renameSync(path, join(dirname(path), `${basename(path)}.${time}`));
  }
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

function append(path: string, content: Uint8Array): void {
  const file = openSync(path, 'a', 0o640);
  try {
    for (let at = 0; at < content.length; ) at += writeSync(file, content, at);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
