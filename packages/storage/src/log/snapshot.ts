import { type Engine, OWN_ORIGIN } from '@quotadb/engine';
import { snapshotPath, unfinished } from '../files/file-names.js';
import type { FileSystem, WritableFile } from '../files/file-system.js';
import { ByteWriter } from '../format/bytes.js';
import { encodeFileHeader, FileKind, RECORD_HEADER_BYTES, sealRecord } from '../format/format.js';
import { Section } from '../format/sections.js';
import { DONE, SHARDS_AT_ONCE, type WalkGoal, WalkWriter } from '../format/walk-writer.js';
import { wholeWalk } from '../format/whole-walk.js';

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
 * behind the walk is in the log that is written meanwhile; but where transactions run, the snapshot itself has what
 * they changed, so that it holds each of them whole or not at all. The file gets its name only when all of it is on
 * disk. Returns its size in bytes.
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
  const walks = new WalkWriter(engine, writer, false);
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
  const goal = new SnapshotGoal(engine);
  const pass = function* (): Generator<void, void> {
    for (let shard = 0; shard < engine.shardCount; shard += SHARDS_AT_ONCE)
      yield* walks.writeInParts(shard, Math.min(shard + SHARDS_AT_ONCE, engine.shardCount), goal);
    goal.isEverything = false;
  };
  for (const _ of wholeWalk(engine, pass, () => bytes + writer.length)) {
    if (writer.length > WRITE_BYTES) await hand();
  }
  writer.reserve(1);
  writer.byte(Section.end);
  await hand();
  return header.length + bytes;
}

/** Everything; then, what changed since. */
class SnapshotGoal implements WalkGoal {
  isEverything = true;
  private readonly engine: Engine;
  /** By origin, then by shard: the version up to which the snapshot holds all changes. */
  private readonly written: { readonly order: number; readonly versions: Float64Array }[] = [];

  constructor(engine: Engine) {
    this.engine = engine;
  }

  from(origin: number, order: number, shard: number): number {
    if (this.isEverything) return 0;
    const { engine, written } = this;
    const held = written[origin]?.order === order ? written[origin].versions[shard] : 0;
    return engine.seen(shard, origin) > held ? held : DONE;
  }

  reached(origin: number, order: number, shard: number, version: number): void {
    const { written } = this;
    if (written[origin]?.order !== order)
      written[origin] = { order, versions: new Float64Array(this.engine.shardCount) };
    written[origin].versions[shard] = version;
  }
}
