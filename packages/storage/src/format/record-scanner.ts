import type { FileSystem, ReadableFile } from '../files/file-system.js';
import {
  decodeFileHeader,
  decodeRecordHeader,
  FILE_HEADER_BYTES,
  type FileHeader,
  isWhole,
  RECORD_HEADER_BYTES,
  RECORD_MAGIC,
} from './format.js';

/** Read at once: large enough that the disk streams, and small beside the store. */
const CHUNK_BYTES = 4 * 1024 * 1024;

export interface ScannedRecord {
  readonly offset: number;
  readonly end: number;
  /** See format.ts. */
  readonly roundGoesOn: boolean;
  readonly nowMs: number;
  readonly syncedTo: number;
  /** All of the record, and the sections in it. Valid until the next record is requested. */
  readonly bytes: Uint8Array;
  readonly sections: Uint8Array;
}

/** Reads the records of one file, and checks each. */
export class RecordScanner {
  readonly path: string;
  readonly size: number;
  readonly header: FileHeader | string;
  /** Where the next record begins. */
  offset = FILE_HEADER_BYTES;
  /** Why there is no record at `offset`, though the file does not end there. */
  problem: string | undefined = undefined;

  private readonly file: ReadableFile;
  private buffer: Uint8Array;
  private bufferStart = 0;
  private bufferLength = 0;
  /** Records up to here belong to rounds that are whole. */
  private wholeTo = 0;

  private constructor(path: string, file: ReadableFile, header: FileHeader | string) {
    this.path = path;
    this.file = file;
    this.size = file.size;
    // Many segments are short, and a directory may have many.
    this.buffer = new Uint8Array(Math.min(CHUNK_BYTES, file.size));
    this.header = header;
  }

  static async open(fileSystem: FileSystem, path: string): Promise<RecordScanner> {
    const file = await fileSystem.openForReading(path);
    const bytes = new Uint8Array(FILE_HEADER_BYTES);
    const count = await file.read(bytes, 0);
    return new RecordScanner(path, file, decodeFileHeader(bytes.subarray(0, count)));
  }

  close(): Promise<void> {
    return this.file.close();
  }

  /** The next whole record that ends at `limit` or before; undefined at the limit, or where there is a problem. */
  async next(limit = this.size): Promise<ScannedRecord | undefined> {
    if (this.offset >= limit) return undefined;
    const record = await this.recordAt(this.offset, limit);
    if (typeof record === 'string') {
      this.problem = record;
      return undefined;
    }
    this.offset = record.end;
    return record;
  }

  /**
   * The next record of a round that is whole and ends at `limit` or before. Where there is none, `offset` is where the
   * round begins.
   */
  async nextOfRound(limit = this.size): Promise<ScannedRecord | undefined> {
    const record = await this.next(limit);
    if (record === undefined || !record.roundGoesOn || record.end <= this.wholeTo) return record;
    for (let last = record; last.roundGoesOn; ) {
      const following = await this.next(limit);
      if (following === undefined) {
        this.problem ??= 'the last record of a round is missing';
        this.offset = record.offset;
        return undefined;
      }
      last = following;
    }
    this.wholeTo = this.offset;
    this.offset = record.offset;
    return this.next(limit);
  }

  /** The first whole record that begins after this offset, at any byte. */
  async findBehind(offset: number): Promise<ScannedRecord | undefined> {
    for (let at = offset + 1; at < this.size; ) {
      const bytes = await this.load(at, CHUNK_BYTES);
      const found = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).indexOf(RECORD_MAGIC);
      if (found === -1) {
        // The magic may lie across the end of the chunk.
        at += Math.max(bytes.length - RECORD_MAGIC.length + 1, 1);
        continue;
      }
      const record = await this.recordAt(at + found, this.size);
      if (typeof record !== 'string') return record;
      at += found + 1;
    }
    return undefined;
  }

  /** The first whole record behind this offset with which a round ends. */
  async findRoundEnd(offset: number): Promise<ScannedRecord | undefined> {
    let record = await this.findBehind(offset);
    while (record?.roundGoesOn) record = await this.findBehind(record.offset);
    return record;
  }

  /** Whether all bytes from this offset to the end are zeros: room that was made ahead and not used. */
  async isZeroFrom(offset: number): Promise<boolean> {
    for (let at = offset; at < this.size; ) {
      const bytes = await this.load(at, CHUNK_BYTES);
      if (bytes.some((byte) => byte !== 0)) return false;
      at += bytes.length;
    }
    return true;
  }

  private async recordAt(offset: number, limit: number): Promise<ScannedRecord | string> {
    if (offset + RECORD_HEADER_BYTES > limit) return 'a record ends within its header';
    const header = decodeRecordHeader(await this.load(offset, RECORD_HEADER_BYTES));
    if (header === undefined) return 'no record begins here';
    const end = offset + header.bytes;
    if (end > limit) return 'a record ends too early';
    const record = await this.load(offset, header.bytes);
    if (!isWhole(record, header)) return 'the checksum of a record does not match';
    return {
      offset,
      end,
      roundGoesOn: header.roundGoesOn,
      nowMs: header.nowMs,
      syncedTo: header.syncedTo,
      bytes: record.subarray(0, header.bytes),
      sections: record.subarray(RECORD_HEADER_BYTES, header.bytes),
    };
  }

  /** Up to `count` bytes from this offset; fewer at the end of the file. */
  private async load(offset: number, count: number): Promise<Uint8Array> {
    const wanted = Math.min(count, this.size - offset);
    if (offset < this.bufferStart || offset + wanted > this.bufferStart + this.bufferLength) {
      if (wanted > this.buffer.length) this.buffer = new Uint8Array(wanted);
      this.bufferLength = await this.file.read(this.buffer, offset);
      this.bufferStart = offset;
    }
    const start = offset - this.bufferStart;
    return this.buffer.subarray(start, Math.min(start + wanted, this.bufferLength));
  }
}
