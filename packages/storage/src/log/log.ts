import { setTimeout as delay } from 'node:timers/promises';
import { getSystemErrorName } from 'node:util';
import { type Engine, OWN_ORIGIN } from '@quotadb/engine';
import { logPath } from '../files/file-names.js';
import type { FileSystem, WritableFile } from '../files/file-system.js';
import { encodeFileHeader, FILE_HEADER_BYTES, FileKind } from '../format/format.js';
import { LogPieces } from './log-pieces.js';
import { LogState, type WrittenCut } from './log-state.js';
import { ManifestWriter } from './manifest.js';

/** How often the main thread tries to take the log while a lane writes. */
const TAKE_INTERVAL_MS = 1;
/** … after these attempts at once: a lane that does not sync has the log for some ten microseconds. */
const TAKE_ATTEMPTS = 2000;

export interface LogOptions {
  readonly fileSystem: FileSystem;
  readonly directory: string;
  readonly engine: Engine;
  /**
   * Called when the disk holds this node's own changes up to a version; by default they are acknowledged to the store.
   */
  readonly acknowledge?: (shard: number, version: number) => void;
  /** For tests: rounds of few keys have several records and are written in several pieces. */
  readonly recordBytes?: number | undefined;
}

/**
 * The log: the disk as a peer whose acknowledgement is fsync. A write asks the store for all changes past the written
 * watermarks and hands them to the system in one go; a key that changed a thousand times since the last write is
 * written once. A sync makes durable what was written when it began. A flush is both.
 *
 * After a failure the segment is never written to again: the bytes that a failed write or sync left behind are unknown.
 * The written watermarks go back to the durable ones, so the next segment begins with all changes that were missed.
 */
export class Log {
  /** Of the segment in use. */
  number = 0;
  readonly state: LogState;

  private readonly options: LogOptions;
  private readonly pieces: LogPieces;
  private file: WritableFile | undefined = undefined;
  private manifest: ManifestWriter | undefined = undefined;
  /** Resolves when this thread's work on the log has ended; never rejects. */
  private working: Promise<void> | undefined = undefined;
  /** By shard: the version last acknowledged to the store. */
  private readonly acknowledged: Float64Array;

  constructor(options: LogOptions) {
    this.options = options;
    this.state = new LogState(options.engine.shardCount);
    this.pieces = new LogPieces(options.engine, this.state, options.recordBytes);
    this.acknowledged = new Float64Array(options.engine.shardCount).fill(Number.NaN);
  }

  /** Whether there is a segment to write to. */
  get isOpen(): boolean {
    return this.file !== undefined;
  }

  /** Runs `work` while no lane writes. */
  async exclusively<T>(work: () => Promise<T>): Promise<T> {
    const { state } = this;
    if (!state.tryTakeAsOwner()) {
      state.setWanted(true);
      // The end of this thread's own work can be awaited; lanes do not notify it of theirs.
      while (!this.takeSoon()) await (this.working ?? delay(TAKE_INTERVAL_MS));
      state.setWanted(false);
    }
    return this.whileTaken(work);
  }

  private takeSoon(): boolean {
    const attempts = this.working === undefined ? TAKE_ATTEMPTS : 1;
    for (let attempt = 0; attempt < attempts; attempt++) if (this.state.tryTakeAsOwner()) return true;
    return false;
  }

  private async whileTaken<T>(work: () => Promise<T>): Promise<T> {
    try {
      const done = work();
      this.working = done.then(ignore, ignore);
      return await done;
    } finally {
      this.working = undefined;
      this.state.give();
    }
  }

  /** Called after recovery, before any change: the disk holds all that the store does. */
  adopt(bytes: number): void {
    const { engine } = this.options;
    this.state.bytes = bytes;
    for (let origin = 0; origin < engine.origins.count; origin++) {
      for (let shard = 0; shard < engine.shardCount; shard++) {
        this.state.setWrittenVersion(origin, engine.origins.orderOf(origin), shard, engine.seen(shard, origin));
      }
    }
    this.state.settle(this.state.cut(engine.origins.count));
    this.acknowledgeMoved();
    engine.dropped.start();
  }

  /** The version up to which all changes of an origin in a shard are durable. */
  durable(shard: number, origin: number): number {
    return this.state.durableVersion(origin, this.options.engine.origins.orderOf(origin), shard);
  }

  /** Lets the store collect removed keys that are on disk, also those that lanes wrote since the last call. */
  private acknowledgeMoved(): void {
    this.options.engine.visit(() => this.acknowledgeEach());
  }

  private acknowledgeEach(): void {
    const { engine, acknowledge } = this.options;
    for (let shard = 0; shard < engine.shardCount; shard++) {
      const version = this.durable(shard, OWN_ORIGIN);
      if (version === this.acknowledged[shard]) continue;
      this.acknowledged[shard] = version;
      if (acknowledge === undefined) engine.acknowledge(shard, version);
      else acknowledge(shard, version);
    }
  }

  /** Begins a segment. `previousEnd` is where the whole records of the segment before end. */
  async open(number: number, previousEnd: number): Promise<void> {
    const { fileSystem, directory, engine } = this.options;
    const path = logPath(directory, number);
    // A failed attempt may have left this file, with nothing in it, and have failed to remove it too.
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
    this.state.beginSegment(FILE_HEADER_BYTES, file.descriptor ?? -1);
    try {
      await this.manifest?.close();
      this.manifest = undefined;
      this.manifest = await ManifestWriter.begin(fileSystem, directory, { number, synced: FILE_HEADER_BYTES });
    } catch (error) {
      // The manifest may name this segment already: it stays, empty, and another follows it.
      await this.abandon();
      throw error;
    }
  }

  /**
   * Writes and settles, while no lane writes. Without a sync, bytes that the system has taken count as durable. After a
   * failure it begins a segment.
   */
  async flush(syncs: boolean): Promise<void> {
    if (!this.isOpen) return this.reopen(syncs);
    const startedAtMs = performance.now();
    const cut = await this.write();
    try {
      await this.makeDurable(cut, syncs);
    } catch (error) {
      await this.abandon();
      throw error;
    }
    this.state.noteFlush(performance.now() - startedAtMs);
  }

  /** The same, and lanes may write during the sync. They must not sync: an error is reported to one thread alone. */
  async flushBeside(syncs: boolean): Promise<void> {
    const startedAtMs = performance.now();
    // A write that failed while this one waited has given the segment up.
    const cut = await this.exclusively(() => (this.isOpen ? this.write() : this.reopen(syncs)));
    if (cut === undefined) return;
    try {
      await this.makeDurable(cut, syncs);
    } catch (error) {
      await this.exclusively(() => this.abandon());
      throw error;
    }
    this.state.noteFlush(performance.now() - startedAtMs);
  }

  /** Writes, unless a lane is writing or there is nothing to write. */
  async tryWrite(): Promise<void> {
    const { state } = this;
    if (!this.isOpen || !this.pieces.hasChanges || !state.tryTakeAsOwner()) return;
    await this.whileTaken(() => this.write());
  }

  /** Writes, where there is a segment to write to. */
  async writeNow(): Promise<void> {
    await this.exclusively(async () => {
      if (this.isOpen) await this.write();
    });
  }

  /** Hands all changes past the written watermarks to the system. */
  private async write(): Promise<WrittenCut> {
    const { file, state, pieces } = this;
    if (file === undefined) throw new Error('the log has no segment');
    try {
      if (state.failure !== 0) throw systemError(state.failure);
      file.position = state.written;
      for (const piece of pieces.collect()) {
        await file.append(piece);
        state.noteWrite(piece.length);
      }
      state.allocated = Math.max(state.allocated, state.written);
    } catch (error) {
      await this.abandon();
      throw error;
    }
    pieces.settle();
    return state.cut(this.options.engine.origins.count);
  }

  private async makeDurable(cut: WrittenCut, syncs: boolean): Promise<void> {
    const { file, state } = this;
    const isUnsynced = syncs && cut.bytes > state.synced;
    const startedAtMs = performance.now();
    if (isUnsynced) await file?.sync();
    // A write beside the sync failed: of this segment only what was durable before counts.
    if (this.file !== file || file === undefined) throw new Error('the segment failed during the sync');
    if (isUnsynced) state.noteSync(cut.bytes, performance.now() - startedAtMs);
    state.settle(cut);
    this.acknowledgeMoved();
    await this.manifest?.note(state.synced).catch(ignore);
  }

  /**
   * Gives the segment up where its file has been removed: the system takes bytes for such a file as for any other, and
   * frees them when the process ends.
   */
  async checkPresence(): Promise<void> {
    const { fileSystem, directory } = this.options;
    const path = logPath(directory, this.number);
    await this.exclusively(async () => {
      if (!this.isOpen) return;
      try {
        await (await fileSystem.openForReading(path)).close();
      } catch (error) {
        await this.abandon();
        throw (error as NodeJS.ErrnoException).code === 'ENOENT' ? new Error(`${path} was removed`) : error;
      }
    });
  }

  /** Syncs and ends the segment, and begins the next. Returns the number of the new one. */
  async rotate(): Promise<number> {
    await this.flush(true);
    const file = this.file as WritableFile;
    const { whole, allocated } = this.state;
    const next = this.number + 1;
    try {
      await this.open(next, whole);
    } catch (error) {
      // A header of the next segment may be on disk and state where this one ends: nothing may be written past that.
      if (this.file === file) await this.abandon();
      else await end(file, whole, allocated);
      throw error;
    }
    await end(file, whole, allocated);
    return next;
  }

  /** After a failure: begins a segment with all changes that were missed. */
  private async reopen(syncs: boolean): Promise<undefined> {
    const { fileSystem, directory } = this.options;
    // With --fsync never: the next segment states that these bytes are there, so a power failure must not take them.
    if (this.state.durable > this.state.synced) await fileSystem.sync(logPath(directory, this.number));
    await this.open(this.number + 1, this.state.durable);
    await this.flush(syncs);
  }

  /** Segments before this one are covered by a snapshot and removed. */
  dropBefore(): void {
    this.state.bytes = this.state.whole;
  }

  async close(): Promise<void> {
    const { file, state } = this;
    this.file = undefined;
    state.descriptor = -1;
    if (file !== undefined) await end(file, state.whole, state.allocated);
    await this.manifest?.close();
  }

  private async abandon(): Promise<void> {
    const { file, state } = this;
    if (file === undefined) return;
    this.file = undefined;
    state.descriptor = -1;
    state.failure = 0;
    const { whole } = state;
    state.fallBack();
    // Notes of drops that were written and not synced are in no store any more: the disk needs a new snapshot.
    this.options.engine.dropped.markLost();
    // Whole records stay until a segment follows: a server that is killed meanwhile finds them.
    await file.truncate(whole).catch(ignore);
    await file.close().catch(ignore);
  }
}

/** Cuts off the zeros that were written ahead and not used; if that fails, the next start does it. */
async function end(file: WritableFile, whole: number, allocated: number): Promise<void> {
  if (allocated > whole) await file.truncate(whole).catch(ignore);
  await file.close().catch(ignore);
}

function systemError(errno: number): Error {
  return Object.assign(new Error(`${getSystemErrorName(-errno)}: a lane could not write to the log`), { errno });
}

function ignore(): void {}
