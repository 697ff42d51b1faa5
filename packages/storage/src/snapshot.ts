import { type Engine, OWN_ORIGIN } from '@quotadb/engine';
import { ByteWriter } from './bytes.js';
import { snapshotPath, unfinished } from './file-names.js';
import type { FileSystem, WritableFile } from './file-system.js';
import { encodeFileHeader, FileKind, RECORD_HEADER_BYTES, sealRecord } from './format.js';
import { Section } from './sections.js';
import { SHARDS_AT_ONCE, type WalkGoal, WalkWriter } from './walk-writer.js';

/** Written at once; between two writes other work on this thread goes on. */
const WRITE_BYTES = 1024 * 1024;

export interface SnapshotOptions {
  readonly fileSystem: FileSystem;
  readonly directory: string;
  readonly engine: Engine;
  /** The first segment of the log that the snapshot does not cover. */
  readonly number: number;
}

/**
 * Writes a snapshot: the walk from version 0, of every origin in every shard, while traffic goes on. A key that changes
 * behind the walk is in the log that is written meanwhile. The file gets its name only when all of it is on disk.
 * Returns its size in bytes.
 */
export async function writeSnapshot(options: SnapshotOptions): Promise<number> {
  const { fileSystem, directory, number } = options;
  const path = snapshotPath(directory, number);
  const part = unfinished(path);
  await fileSystem.remove(part);
  const file = await fileSystem.create(part);
  try {
    const bytes = await writeAll(options, file);
    await file.sync();
    await file.close();
    await fileSystem.rename(part, path);
    await fileSystem.syncDirectory(directory);
    return bytes;
  } catch (error) {
    await file.close().catch(() => {});
    await fileSystem.remove(part).catch(() => {});
    throw error;
  }
}

async function writeAll({ engine, number }: SnapshotOptions, file: WritableFile): Promise<number> {
  const writer = new ByteWriter(WRITE_BYTES + WRITE_BYTES / 2);
  const walks = new WalkWriter(engine, writer);
  let bytes = 0;
  const hand = async (): Promise<void> => {
    sealRecord(writer, 0, 0, engine.nowMs);
    await file.append(writer.bytes.subarray(0, writer.length));
    bytes += writer.length;
    writer.length = RECORD_HEADER_BYTES;
  };
  const header = encodeFileHeader({
    kind: FileKind.snapshot,
    shardCount: engine.shardCount,
    number,
    previousEnd: 0,
    begunAtMs: engine.nowMs,
    origin: engine.origins.idOf(OWN_ORIGIN),
  });
  await file.append(header);
  writer.length = RECORD_HEADER_BYTES;
  for (let shard = 0; shard < engine.shardCount; shard += SHARDS_AT_ONCE) {
    for (const _ of walks.write(shard, Math.min(shard + SHARDS_AT_ONCE, engine.shardCount), EVERYTHING)) {
      if (writer.length > WRITE_BYTES) await hand();
    }
  }
  writer.reserve(1);
  writer.byte(Section.end);
  await hand();
  return header.length + bytes;
}

const EVERYTHING: WalkGoal = { from: () => 0, reached: () => {} };
