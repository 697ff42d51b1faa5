import { Batch, batchSince, type Dropped, type Engine, NOT_PASSED, OWN_ORIGIN } from '@quotadb/engine';
import { ByteWriter } from './bytes.js';
import { logPath } from './file-names.js';
import type { FileSystem, WritableFile } from './file-system.js';
import { encodeFileHeader, FILE_HEADER_BYTES, FileKind, RECORD_HEADER_BYTES, sealRecord } from './format.js';
import { writeBatch, writeDropped } from './sections.js';

/** A record is ended at the first shard past this, so that a checksum covers a bounded piece. */
const RECORD_BYTES = 1024 * 1024;
/** Handed to the disk at once; a flush that comes to more is written in pieces, and synced once. */
const WRITE_BYTES = 8 * 1024 * 1024;
const INITIAL_BYTES = 64 * 1024;
/** Notes of what was let go, taken from a shard under one hold of its lock. */
const DROPPED_LIMIT = 4096;

export interface LogOptions {
  readonly fileSystem: FileSystem;
  readonly directory: string;
  readonly engine: Engine;
  /** Told what the disk holds of this node's own changes; by default the store itself, where nobody else has to know. */
  readonly acknowledge?: (shard: number, version: number) => void;
}

/**
 * The write-ahead log: the disk as a peer whose acknowledgement is fsync. A flush asks the store for everything behind
 * the disk's watermarks, writes it in one go, syncs once, and moves the watermarks. A key that changed a thousand times
 * since the last flush is in it once.
 *
 * After a failure the segment is never written to again: what a failed write or sync left behind is unknown. The
 * watermarks stand where the last success put them, so the next segment begins with everything that was missed.
 */
export class Log {
  /** Of the segment in use. */
  number = 0;
  /** Of all segments since the last snapshot, as far as they are whole. */
  bytes = 0;
  writtenBytesTotal = 0;
  syncsTotal = 0;

  private readonly options: LogOptions;
  private readonly writer = new ByteWriter(INITIAL_BYTES);
  private readonly batch = new Batch();
  /** By origin, then shard: up to which version the disk holds everything. */
  private readonly durableUpTo: Float64Array[] = [];
  private moved: { origin: number; shard: number; version: number }[] = [];
  /** Taken out of the store and not yet on disk. */
  private dropped: Dropped[] = [];
  private file: WritableFile | undefined = undefined;
  /** Bytes of the segment: handed over, covered by the watermarks, and known to be on disk. */
  private written = 0;
  private whole = 0;
  private synced = 0;

  constructor(options: LogOptions) {
    this.options = options;
  }

  /** Whether there is a segment to write to. */
  get isOpen(): boolean {
    return this.file !== undefined;
  }

  /** The store is what the disk holds: true after recovery, before anybody changed anything. */
  adopt(bytes: number): void {
    const { engine } = this.options;
    this.bytes = bytes;
    for (let origin = 0; origin < engine.origins.count; origin++) {
      for (let shard = 0; shard < engine.shardCount; shard++) {
        this.watermarks(origin)[shard] = engine.seen(shard, origin);
        if (origin === OWN_ORIGIN) this.acknowledge(shard, engine.seen(shard, origin));
      }
    }
    engine.dropped.start();
  }

  /** Up to which of an origin's changes in a shard the disk holds everything. */
  durable(shard: number, origin: number): number {
    return this.watermarks(origin)[shard];
  }

  private acknowledge(shard: number, version: number): void {
    const { engine, acknowledge } = this.options;
    if (acknowledge === undefined) engine.acknowledge(shard, version);
    else acknowledge(shard, version);
  }

  /** Begins a segment. `previousEnd` says how much of the one before is whole. */
  async open(number: number, previousEnd: number): Promise<void> {
    const { fileSystem, directory, engine } = this.options;
    const path = logPath(directory, number);
    // What an attempt that failed could not even remove: there is nothing in it, and it must not stand in the way for ever.
    await fileSystem.remove(path);
    const file = await fileSystem.create(path);
    try {
      await file.append(
        encodeFileHeader({
          kind: FileKind.log,
          shardCount: engine.shardCount,
          number,
          previousEnd,
          begunAtMs: engine.nowMs,
          origin: engine.origins.idOf(OWN_ORIGIN),
        }),
      );
      await file.sync();
      await fileSystem.syncDirectory(directory);
    } catch (error) {
      await file.close().catch(ignore);
      await fileSystem.remove(path).catch(ignore);
      throw error;
    }
    this.file = file;
    this.number = number;
    this.written = FILE_HEADER_BYTES;
    this.whole = FILE_HEADER_BYTES;
    this.synced = FILE_HEADER_BYTES;
    this.bytes += FILE_HEADER_BYTES;
  }

  /** Everything behind the watermarks to disk; without a sync, what the system has taken counts as written. */
  async flush(syncs: boolean): Promise<void> {
    const { file } = this;
    if (file === undefined) throw new Error('the log has no segment');
    try {
      await this.write(file);
      if (syncs && this.written > this.synced) {
        await file.sync();
        this.synced = this.written;
        this.syncsTotal++;
      }
    } catch (error) {
      await this.abandon(file);
      throw error;
    }
    this.bytes += this.written - this.whole;
    this.whole = this.written;
    this.dropped = [];
    for (const { origin, shard, version } of this.moved) {
      this.watermarks(origin)[shard] = version;
      // The store can let go of what was removed.
      if (origin === OWN_ORIGIN) this.acknowledge(shard, version);
    }
    this.moved = [];
  }

  /** Ends the segment and begins the next; everything before is on disk then. Returns the number of the new one. */
  async rotate(): Promise<number> {
    await this.flush(true);
    const file = this.file as WritableFile;
    const next = this.number + 1;
    await this.open(next, this.whole);
    await file.close().catch(ignore);
    return next;
  }

  /** After a failure: a segment of its own for everything that was missed. */
  async reopen(syncs: boolean): Promise<void> {
    await this.open(this.number + 1, this.whole);
    await this.flush(syncs);
  }

  /** Segments before this one are covered by a snapshot and gone. */
  forgetBefore(): void {
    this.bytes = this.whole;
  }

  async close(): Promise<void> {
    const { file } = this;
    this.file = undefined;
    await file?.close();
  }

  private async write(file: WritableFile): Promise<void> {
    const { engine } = this.options;
    const { writer } = this;
    writer.length = 0;
    this.moved = [];
    let start = this.beginRecord(0);
    // What a flush that failed had already taken out of the store.
    for (const dropped of this.dropped) writeDropped(writer, dropped);
    for (let shard = 0; shard < engine.shardCount; shard++) {
      this.writeShard(shard);
      if (writer.length - start <= RECORD_BYTES) continue;
      this.endRecord(start);
      if (writer.length > WRITE_BYTES) await this.hand(file);
      start = this.beginRecord(writer.length);
    }
    if (writer.length - start > RECORD_HEADER_BYTES) this.endRecord(start);
    else writer.length = start;
    if (writer.length > 0) await this.hand(file);
  }

  private beginRecord(start: number): number {
    this.writer.reserve(RECORD_HEADER_BYTES);
    this.writer.length = start + RECORD_HEADER_BYTES;
    return start;
  }

  private endRecord(start: number): void {
    sealRecord(this.writer, start, this.synced, this.options.engine.nowMs);
  }

  private async hand(file: WritableFile): Promise<void> {
    const { writer } = this;
    await file.append(writer.bytes.subarray(0, writer.length));
    this.written += writer.length;
    this.writtenBytesTotal += writer.length;
    writer.length = 0;
  }

  /** Other origins first and the own one last, in one record: so own lives are in line with what is on disk of others. */
  private writeShard(shard: number): void {
    const { engine } = this.options;
    for (let origin = engine.origins.count - 1; origin >= OWN_ORIGIN; origin--) {
      const start = this.watermarks(origin)[shard];
      if (engine.seen(shard, origin) > start) this.writeWalk(shard, origin, start);
    }
    const fresh = engine.takeDropped(shard, DROPPED_LIMIT);
    this.dropped.push(...fresh);
    for (const dropped of fresh) writeDropped(this.writer, dropped);
  }

  private writeWalk(shard: number, origin: number, start: number): void {
    const { batch, writer } = this;
    for (let from = start, passed = NOT_PASSED; ; from = batch.reached, passed = batch.passed) {
      batchSince(this.options.engine, shard, origin, from, batch, undefined, start, passed);
      writeBatch(writer, batch, origin === OWN_ORIGIN);
      if (batch.to !== 0 || batch.count === 0) break;
    }
    if (batch.to !== 0) this.moved.push({ origin, shard, version: batch.to });
  }

  private watermarks(origin: number): Float64Array {
    this.durableUpTo[origin] ??= new Float64Array(this.options.engine.shardCount);
    return this.durableUpTo[origin];
  }

  private async abandon(file: WritableFile): Promise<void> {
    this.file = undefined;
    this.moved = [];
    this.writer.length = 0;
    this.written = this.whole;
    await file.truncate(this.whole).catch(ignore);
    await file.close().catch(ignore);
  }
}

function ignore(): void {}
