import { setTimeout as delay } from 'node:timers/promises';
import { getSystemErrorName } from 'node:util';
import { type Engine, OWN_ORIGIN } from '@quotadb/engine';
import { logPath } from './file-names.js';
import type { FileSystem, WritableFile } from './file-system.js';
import { encodeFileHeader, FILE_HEADER_BYTES, FileKind } from './format.js';
import { LogPieces } from './log-pieces.js';
import { LogState } from './log-state.js';

/** How soon the owner looks again whether a lane is done with the log. */
const TAKE_INTERVAL_MS = 1;

export interface LogOptions {
  readonly fileSystem: FileSystem;
  readonly directory: string;
  readonly engine: Engine;
  /** Told what the disk holds of this node's own changes; by default the store itself, where nobody else has to know. */
  readonly acknowledge?: (shard: number, version: number) => void;
  /** Lanes may write to it by themselves; see lane-log.ts. */
  readonly isShared?: boolean;
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
  readonly state: LogState;

  private readonly options: LogOptions;
  private readonly pieces: LogPieces;
  private file: WritableFile | undefined = undefined;
  /** Over when this thread has done what it holds the log for; never fails. */
  private working: Promise<void> | undefined = undefined;
  /** Up to where the store was told that the disk holds it. */
  private readonly acknowledged: Float64Array;

  constructor(options: LogOptions) {
    this.options = options;
    this.state = new LogState(options.engine.shardCount);
    this.pieces = new LogPieces(options.engine, this.state);
    this.acknowledged = new Float64Array(options.engine.shardCount).fill(Number.NaN);
  }

  /** Whether there is a segment to write to. */
  get isOpen(): boolean {
    return this.file !== undefined;
  }

  /** Does this while no lane writes. */
  async exclusively<T>(work: () => Promise<T>): Promise<T> {
    const { state } = this;
    if (!state.tryTakeAsOwner()) {
      state.setWanted(true);
      // Where this thread itself is at it, there is an end to wait for; of lanes nothing is heard.
      while (!state.tryTakeAsOwner()) await (this.working ?? delay(TAKE_INTERVAL_MS));
      state.setWanted(false);
    }
    try {
      const done = work();
      this.working = done.then(ignore, ignore);
      return await done;
    } finally {
      this.working = undefined;
      state.give();
    }
  }

  /** The store is what the disk holds: true after recovery, before anybody changed anything. */
  adopt(bytes: number): void {
    const { engine } = this.options;
    this.state.bytes = bytes;
    for (let origin = 0; origin < engine.origins.count; origin++) {
      for (let shard = 0; shard < engine.shardCount; shard++) {
        this.state.setWatermark(origin, shard, engine.seen(shard, origin));
      }
    }
    this.acknowledgeMoved();
    engine.dropped.start();
  }

  /** Up to which of an origin's changes in a shard the disk holds everything. */
  durable(shard: number, origin: number): number {
    return this.state.watermark(origin, shard);
  }

  /** The store can let go of what was removed; also of what lanes have written since this was called last. */
  private acknowledgeMoved(): void {
    const { engine, acknowledge } = this.options;
    for (let shard = 0; shard < engine.shardCount; shard++) {
      const version = this.durable(shard, OWN_ORIGIN);
      if (version === this.acknowledged[shard]) continue;
      this.acknowledged[shard] = version;
      if (acknowledge === undefined) engine.acknowledge(shard, version);
      else acknowledge(shard, version);
    }
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
    const { state } = this;
    this.file = file;
    this.number = number;
    state.failure = 0;
    state.written = FILE_HEADER_BYTES;
    state.whole = FILE_HEADER_BYTES;
    state.synced = FILE_HEADER_BYTES;
    state.allocated = FILE_HEADER_BYTES;
    state.bytes += FILE_HEADER_BYTES;
    if (this.options.isShared) state.descriptor = file.descriptor ?? -1;
  }

  /** Everything behind the watermarks to disk; without a sync, what the system has taken counts as written. */
  async flush(syncs: boolean): Promise<void> {
    const { file, state, pieces } = this;
    if (file === undefined) throw new Error('the log has no segment');
    const startedAtMs = performance.now();
    try {
      if (state.failure !== 0) throw systemError(state.failure);
      file.position = state.written;
      for (const piece of pieces.collect()) {
        await file.append(piece);
        state.noteWrite(piece.length);
      }
      state.allocated = Math.max(state.allocated, state.written);
      if (syncs && state.written > state.synced) {
        const writtenAtMs = performance.now();
        await file.sync();
        state.noteSync(performance.now() - writtenAtMs);
      }
    } catch (error) {
      await this.abandon(file);
      throw error;
    }
    state.noteWhole();
    pieces.settle();
    this.acknowledgeMoved();
    state.noteFlush(performance.now() - startedAtMs);
  }

  /** Ends the segment and begins the next; everything before is on disk then. Returns the number of the new one. */
  async rotate(): Promise<number> {
    await this.flush(true);
    const file = this.file as WritableFile;
    const { whole, allocated } = this.state;
    const next = this.number + 1;
    try {
      await this.open(next, whole);
    } catch (error) {
      // What is left of the next segment may say where this one ends: nothing may be written behind that.
      await this.abandon(file);
      throw error;
    }
    await end(file, whole, allocated);
    return next;
  }

  /** After a failure: a segment of its own for everything that was missed. */
  async reopen(syncs: boolean): Promise<void> {
    await this.open(this.number + 1, this.state.whole);
    await this.flush(syncs);
  }

  /** Segments before this one are covered by a snapshot and gone. */
  forgetBefore(): void {
    this.state.bytes = this.state.whole;
  }

  async close(): Promise<void> {
    const { file, state } = this;
    this.file = undefined;
    state.descriptor = -1;
    if (file !== undefined) await end(file, state.whole, state.allocated);
  }

  private async abandon(file: WritableFile): Promise<void> {
    const { state } = this;
    this.file = undefined;
    this.pieces.moved = [];
    state.descriptor = -1;
    state.failure = 0;
    state.written = state.whole;
    await file.truncate(state.whole).catch(ignore);
    await file.close().catch(ignore);
  }
}

/** What was filled with zeros ahead and not used is given back; if that fails, the next start does it. */
async function end(file: WritableFile, whole: number, allocated: number): Promise<void> {
  if (allocated > whole) await file.truncate(whole).catch(ignore);
  await file.close().catch(ignore);
}

function systemError(errno: number): Error {
  return Object.assign(new Error(`${getSystemErrorName(-errno)}: a lane could not write to the log`), { errno });
}

function ignore(): void {}
