import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { unfinished } from '../files/file-names.js';
import type { FileSystem, WritableFile } from '../files/file-system.js';
import { ByteReader, ByteWriter } from '../format/bytes.js';

/**
 * What a data directory must hold at least: its newest log segment, and how many bytes of it were synced. Without it
 * a log whose newest file is missing, or whose end is cut off, would look like one that ended there.
 *
 *   manifest.qdb | what
 *   -------------|---------------------------------------------------------------------------------------------
 *   0–23         | an entry: number of the newest segment, a double; bytes of it that are on disk, a double;
 *                | checksum of these 16 bytes; 0 (4 bytes)
 *   24 …         | further entries of the same segment, each with more bytes
 *
 * The last whole entry holds. The file is replaced when a segment begins, after that is on disk; entries are added
 * after the main thread's syncs, and every tenth is synced, about once a second. So it never claims more than there
 * was, and hardly less: after the end of a process it is exact to the last flush of the main thread.
 */
export interface Manifest {
  readonly number: number;
  readonly synced: number;
}

const ENTRY_BYTES = 24;
/** The main thread flushes ten times a second by default. */
const NOTES_PER_SYNC = 10;

export function manifestPath(directory: string): string {
  return join(directory, 'manifest.qdb');
}

/** Undefined where there is none, or nothing readable in it. */
export async function readManifest(fileSystem: FileSystem, directory: string): Promise<Manifest | undefined> {
  const path = manifestPath(directory);
  if (!(await fileSystem.list(directory)).some((name) => join(directory, name) === path)) return undefined;
  const file = await fileSystem.openForReading(path);
  try {
    const bytes = new Uint8Array(file.size);
    const count = await file.read(bytes, 0);
    let last: Manifest | undefined;
    for (let at = 0; at + ENTRY_BYTES <= count; at += ENTRY_BYTES) {
      const reader = new ByteReader(bytes.subarray(at, at + ENTRY_BYTES));
      const entry = { number: reader.double(), synced: reader.double() };
      if (reader.uint32() !== crc32(bytes.subarray(at, at + 16))) break;
      last = entry;
    }
    return last;
  } finally {
    await file.close();
  }
}

export class ManifestWriter {
  private readonly file: WritableFile;
  private readonly number: number;
  private synced: number;
  private notes = 0;

  private constructor(file: WritableFile, number: number, synced: number) {
    this.file = file;
    this.number = number;
    this.synced = synced;
  }

  /** Replaces the manifest. The segment's file is on disk already, with its name. */
  static async begin(fileSystem: FileSystem, directory: string, { number, synced }: Manifest): Promise<ManifestWriter> {
    const path = manifestPath(directory);
    const part = unfinished(path);
    await fileSystem.remove(part);
    const file = await fileSystem.create(part);
    try {
      await file.append(encode(number, synced));
      await file.sync();
      await fileSystem.rename(part, path);
      await fileSystem.syncDirectory(directory);
    } catch (error) {
      await file.close().catch(() => {});
      throw error;
    }
    return new ManifestWriter(file, number, synced);
  }

  /** `synced` bytes of the segment are on disk. Where this cannot be noted, the manifest claims less than there is. */
  async note(synced: number): Promise<void> {
    if (synced <= this.synced) return;
    this.synced = synced;
    await this.file.append(encode(this.number, synced));
    if (++this.notes % NOTES_PER_SYNC === 0) await this.file.sync();
  }

  async close(): Promise<void> {
    await this.file.sync().catch(() => {});
    await this.file.close().catch(() => {});
  }
}

function encode(number: number, synced: number): Uint8Array {
  const writer = new ByteWriter(ENTRY_BYTES);
  writer.double(number);
  writer.double(synced);
  writer.uint32(crc32(writer.bytes.subarray(0, 16)));
  writer.uint32(0);
  return writer.bytes;
}
