import { crc32 } from 'node:zlib';
import { ORIGIN_ID_BYTES } from '@quotadb/engine';
import { ByteReader, ByteWriter } from './bytes.js';

/**
 * The files of a data directory. Log segments and snapshots have one format: a header, then records. All numbers are
 * little-endian; a double is an IEEE 754 one; a varint holds seven bits a byte, the lowest first. The checksum is
 * CRC-32 as zlib has it, which finds every burst of errors up to 32 bits.
 *
 *   file header | what
 *   ------------|-----------------------------------------------------------------------------------------------
 *   0–3         | "QDBF"
 *   4–7         | checksum of bytes 8–79
 *   8–9         | format version
 *   10–11       | kind: 1 log segment, 2 snapshot, 3 unpublished counts
 *   12–15       | how many shards the store has
 *   16–23       | number, a double: a segment's own; a snapshot's is that of the first segment behind it
 *   24–31       | segments: where the whole records of the segment before end, a double; later bytes were given up
 *   32–39       | when the file was begun, ms, a double
 *   40–71       | the origin that wrote it: replica id, incarnation
 *   72–79       | 0
 *
 *   record      | what
 *   ------------|-----------------------------------------------------------------------------------------------
 *   0–3         | "QREC"
 *   4–7         | checksum of bytes 8 to the end of the record
 *   8–11        | bits 0–30: bytes of sections that follow the record's header; bit 31: the round goes on in the
 *               | next record
 *   12–19       | the byte up to which this file was known to be on disk when the record was made, a double
 *   20–27       | the node's time, ms, a double
 *   28 …        | sections (sections.ts)
 *
 * A round is all that one write added to a log: a record without bit 31, and all records with it that lie before. It
 * holds every transaction whole or not at all (whole-walk.ts), and so recovery restores it whole or not at all.
 *
 * A record is whole when its magic, its length and its checksum are right; a round, when all of its records are. A
 * round of the last segment that is not whole is
 *
 *   1. a torn tail, if no whole record after its beginning has a synced byte (12–19) past that: a write that a crash
 *      cut short. It is cut off, and nothing that was synced is lost;
 *   2. damage otherwise, and so is one in any other segment: recovery stops, and `quotadb repair` salvages the rest.
 *
 * Since format 2 keys may begin with bytes of the key before them; since 3 rounds may have several records.
 */
export const FORMAT_VERSION = 3;
export const OLDEST_READ_VERSION = 1;
export const FILE_HEADER_BYTES = 80;
export const RECORD_HEADER_BYTES = 28;

const ROUND_GOES_ON = 2 ** 31;

export const FileKind = { log: 1, snapshot: 2, unpublished: 3 } as const;
export type FileKind = (typeof FileKind)[keyof typeof FileKind];

const FILE_MAGIC = 0x46424451;
export const RECORD_MAGIC = Buffer.from('QREC', 'latin1');
const RECORD_MAGIC_WORD = RECORD_MAGIC.readUInt32LE(0);

export interface FileHeader {
  readonly kind: FileKind;
  readonly shardCount: number;
  readonly number: number;
  readonly previousEnd: number;
  readonly begunAtMs: number;
  readonly origin: Uint8Array;
}

export function encodeFileHeader(header: FileHeader): Uint8Array {
  const writer = new ByteWriter(FILE_HEADER_BYTES);
  writer.uint32(FILE_MAGIC);
  writer.uint32(0);
  writer.uint16(FORMAT_VERSION);
  writer.uint16(header.kind);
  writer.uint32(header.shardCount);
  writer.double(header.number);
  writer.double(header.previousEnd);
  writer.double(header.begunAtMs);
  writer.raw(header.origin);
  writer.view.setUint32(4, crc32(writer.bytes.subarray(8)), true);
  return writer.bytes;
}

/** The header, or the reason why these bytes are none. */
export function decodeFileHeader(bytes: Uint8Array): FileHeader | string {
  if (bytes.length < FILE_HEADER_BYTES) return 'the file ends within its header';
  const reader = new ByteReader(bytes.subarray(0, FILE_HEADER_BYTES));
  if (reader.uint32() !== FILE_MAGIC) return 'the file does not begin with QDBF: QuotaDB did not write it';
  if (reader.uint32() !== crc32(reader.bytes.subarray(8))) return 'the file header is damaged';
  const version = reader.uint16();
  if (version < OLDEST_READ_VERSION || version > FORMAT_VERSION) {
    return `the file has format ${version}; this version reads formats ${OLDEST_READ_VERSION} to ${FORMAT_VERSION}`;
  }
  const kind = reader.uint16() as FileKind;
  return {
    kind,
    shardCount: reader.uint32(),
    number: reader.double(),
    previousEnd: reader.double(),
    begunAtMs: reader.double(),
    origin: Uint8Array.from(reader.raw(ORIGIN_ID_BYTES)),
  };
}

/** Fills in the header of the record that lies at writer.bytes[start..length). */
export function sealRecord(
  writer: ByteWriter,
  start: number,
  syncedTo: number,
  nowMs: number,
  roundGoesOn = false,
): void {
  const { view, bytes, length } = writer;
  view.setUint32(start, RECORD_MAGIC_WORD, true);
  view.setUint32(start + 8, length - start - RECORD_HEADER_BYTES + (roundGoesOn ? ROUND_GOES_ON : 0), true);
  view.setFloat64(start + 12, syncedTo, true);
  view.setFloat64(start + 20, nowMs, true);
  view.setUint32(start + 4, crc32(bytes.subarray(start + 8, length)), true);
}

export interface RecordHeader {
  readonly checksum: number;
  /** Of the whole record. */
  readonly bytes: number;
  /** The next record belongs to the same round. */
  readonly roundGoesOn: boolean;
  readonly syncedTo: number;
  readonly nowMs: number;
}

/** Undefined where no record can begin with these bytes. */
export function decodeRecordHeader(bytes: Uint8Array): RecordHeader | undefined {
  const reader = new ByteReader(bytes.subarray(0, RECORD_HEADER_BYTES));
  if (reader.uint32() !== RECORD_MAGIC_WORD) return undefined;
  const checksum = reader.uint32();
  const word = reader.uint32();
  return {
    checksum,
    bytes: RECORD_HEADER_BYTES + (word % ROUND_GOES_ON),
    roundGoesOn: word >= ROUND_GOES_ON,
    syncedTo: reader.double(),
    nowMs: reader.double(),
  };
}

export function isWhole(record: Uint8Array, header: RecordHeader): boolean {
  return crc32(record.subarray(8, header.bytes)) === header.checksum;
}
