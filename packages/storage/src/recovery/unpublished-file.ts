import { join } from 'node:path';
import { type Engine, OWN_ORIGIN, restoreUnpublished, unpublishedCounts } from '@quotadb/engine';
import { unfinished } from '../files/file-names.js';
import type { FileSystem, WritableFile } from '../files/file-system.js';
import { ByteReader, ByteWriter } from '../format/bytes.js';
import { encodeFileHeader, FileKind, RECORD_HEADER_BYTES, sealRecord } from '../format/format.js';
import { RecordScanner } from '../format/record-scanner.js';

/**
 * Unpublished counts over a stop and a start: rate counts below the publish threshold, and buckets. They are in no
 * component, so neither log nor snapshot has them, and no peer ever gets them from here. A stop writes this file; the
 * next start reads and removes it, so that a crash after that cannot bring old counts back. A crash loses them.
 *
 *   unpublished.qdb | what
 *   ----------------|------------------------------------------------------------------------------------------
 *   header, records | as in format.ts, of kind 3
 *   an entry        | amount (low, high: 4 bytes each), until when it counts, when it expires once published (ms, two
 *                   | doubles), length of the key (varint), key
 */
const NAME = 'unpublished.qdb';
const RECORD_BYTES = 1024 * 1024;
/** An entry besides its key. */
const ENTRY_BYTES = 32;

export async function writeUnpublished(fileSystem: FileSystem, directory: string, engine: Engine): Promise<void> {
  if (engine.stats().keysUnpublished === 0) return;
  const path = join(directory, NAME);
  const part = unfinished(path);
  await fileSystem.remove(part);
  const file = await fileSystem.create(part);
  try {
    await writeAll(file, engine);
    await file.sync();
  } finally {
    await file.close();
  }
  await fileSystem.rename(part, path);
  await fileSystem.syncDirectory(directory);
}

async function writeAll(file: WritableFile, engine: Engine): Promise<void> {
  const { shardCount, nowMs } = engine;
  const origin = engine.origins.idOf(OWN_ORIGIN);
  const header = { kind: FileKind.unpublished, shardCount, number: 0, previousEnd: 0, begunAtMs: nowMs, origin };
  await file.append(encodeFileHeader(header));
  const writer = new ByteWriter(RECORD_BYTES);
  writer.length = RECORD_HEADER_BYTES;
  const hand = async (): Promise<void> => {
    sealRecord(writer, 0, 0, nowMs);
    await file.append(writer.bytes.subarray(0, writer.length));
    writer.length = RECORD_HEADER_BYTES;
  };
  for (const counts of unpublishedCounts(engine)) {
    for (const { key, high, low, untilMs, expiresAtMs } of counts) {
      writer.reserve(ENTRY_BYTES + key.length);
      writer.uint32(low);
      writer.uint32(high);
      writer.double(untilMs);
      writer.double(expiresAtMs);
      writer.varint(key.length);
      writer.raw(key);
    }
    if (writer.length > RECORD_BYTES) await hand();
  }
  if (writer.length > RECORD_HEADER_BYTES) await hand();
}

/** For counts of a time that was wrong: they would count until then. */
export async function dropUnpublished(fileSystem: FileSystem, directory: string): Promise<void> {
  await fileSystem.remove(join(directory, NAME));
}

/** Called when everything else is restored. A damaged record, and those behind it, are left out. */
export async function readUnpublished(fileSystem: FileSystem, directory: string, engine: Engine): Promise<void> {
  if (!(await fileSystem.list(directory)).includes(NAME)) return;
  const path = join(directory, NAME);
  const scanner = await RecordScanner.open(fileSystem, path);
  try {
    for (let record = await scanner.next(); record !== undefined; record = await scanner.next()) {
      const reader = new ByteReader(record.sections);
      while (!reader.isAtEnd) {
        const low = reader.uint32() | 0;
        const high = reader.uint32() | 0;
        const [untilMs, expiresAtMs] = [reader.double(), reader.double()];
        const key = Uint8Array.from(reader.raw(reader.varint()));
        restoreUnpublished(engine, { key, high, low, untilMs, expiresAtMs });
      }
    }
  } finally {
    await scanner.close();
  }
  await fileSystem.remove(path);
}
