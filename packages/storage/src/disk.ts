import { type Engine, OWN_ORIGIN, type ReDating } from '@quotadb/engine';
import { StorageError } from './files/errors.js';
import { findDataFiles, logPath, snapshotPath } from './files/file-names.js';
import { type FileSystem, nodeFileSystem } from './files/file-system.js';
import { FlushEvents } from './flush-events.js';
import { KeptFiles } from './identity/kept-files.js';
import { recoverAsNewIncarnation } from './identity/new-incarnation.js';
import type { OldCopy } from './identity/old-copy.js';
import { Log } from './log/log.js';
import type { LogDurations, LogTotals } from './log/log-state.js';
import { writeSnapshot } from './log/snapshot.js';
import { type Progress, type Recovered, recover } from './recovery/recover.js';
import { dropUnpublished, readUnpublished, writeUnpublished } from './recovery/unpublished-file.js';

/** When to sync: before every reply to a change, at this interval in ms, or never. */
export type FsyncMode = 'always' | 'never' | number;

export interface DiskOptions {
  readonly directory: string;
  readonly engine: Engine;
  readonly fsync: FsyncMode;
  /** A snapshot is taken when the log has grown past this and past the size of the last snapshot. */
  readonly snapshotLogBytes: number;
  /** A snapshot is taken this long after the last one too, if anything was written since. */
  readonly snapshotIntervalMs?: number | undefined;
  readonly fileSystem?: FileSystem;
  readonly now: () => number;
  /** See RecoveryOptions. */
  readonly expectsManifest?: boolean;
  /** See RecoveryOptions. */
  readonly reDating?: (dataMs: number) => ReDating | undefined;
  /** The directory is an old copy: the store's origin is its next incarnation. */
  readonly oldCopy?: OldCopy | undefined;
  readonly acknowledge?: (shard: number, version: number) => void;
  readonly events?: Partial<DiskEvents>;
  readonly flushes?: FlushEvents;
  /** See LogOptions. */
  readonly recordBytes?: number;
}

interface DiskEvents {
  progress(progress: Progress): void;
  /** A flush failed. Called once, until one succeeds again. */
  failed(error: Error): void;
  /** The first flush after a failure succeeded. */
  recovered(): void;
  snapshotTaken(bytes: number, milliseconds: number): void;
  snapshotFailed(error: Error): void;
}

/** The figures of INFO's section on persistence. */
export interface DiskStatus extends LogTotals {
  readonly isFailed: boolean;
  readonly lastError: string;
  readonly snapshotBytes: number;
  readonly lastSaveMs: number;
  readonly lastSnapshotFailed: boolean;
  readonly lastSnapshotMs: number;
  readonly isSnapshotting: boolean;
  /** Flushes that took longer than the time between two: the disk is the bottleneck. */
  readonly lateFlushesTotal: number;
}

/** How often changes are flushed that no client waits for: expiries, and all of them with --fsync never. */
const BACKGROUND_FLUSH_MS = 100;
/** How often changes that no reply waits for are written, unless a lane has just written. Idle, a look takes 2 µs. */
const WRITE_MS = 5;
/** How often the segment in use is looked for: an operator may have removed it. */
const CHECK_MS = 1000;
/** After a failure, the time until the next attempt. */
const RETRY_MS = 1000;
/** With more log segments than this, from many short runs, a snapshot replaces them. */
const MAXIMUM_SEGMENTS = 64;

/**
 * The disk of a running server: one flush at a time for all waiting clients, snapshots beside it, and recovery after a
 * failure. While the disk fails the store goes on and is its own log: nothing queues up, and the first segment that can
 * be written again begins with all changes that were missed.
 */
export class Disk {
  private readonly options: DiskOptions;
  private readonly fileSystem: FileSystem;
  private readonly flushes: FlushEvents;
  private readonly log: Log;
  private readonly kept: KeptFiles;
  private error: Error | undefined = undefined;
  private timer: NodeJS.Timeout | undefined = undefined;
  private writeTimer: NodeJS.Timeout | undefined = undefined;
  private retryAtMs = 0;
  /** Resolves when the last work on the log that was asked for has ended; never rejects. */
  private running: Promise<void> | undefined = undefined;
  /** A flush that has not begun. */
  private following: Promise<void> | undefined = undefined;
  private snapshotting: Promise<void> | undefined = undefined;
  /** The newest segment whose place a snapshot has taken. */
  private replaced = 0;
  private closed = false;
  private mustSync = false;
  private snapshotBytes = 0;
  private lastSaveMs = 0;
  /** Of all bytes that were written to the log: those that the last snapshot covers, and those at the last look. */
  private coveredBytesTotal = 0;
  private seenBytesTotal = 0;
  private lastSnapshotFailed = false;
  private lastSnapshotMs = 0;
  private lateFlushesTotal = 0;
  private checkedAtMs = performance.now();
  /** When the last flush that succeeded began. */
  private flushedAtMs = 0;

  private constructor(options: DiskOptions) {
    this.options = options;
    this.fileSystem = options.fileSystem ?? nodeFileSystem;
    this.flushes = options.flushes ?? new FlushEvents();
    this.kept = new KeptFiles(this.fileSystem, options.directory);
    this.log = new Log({
      fileSystem: this.fileSystem,
      directory: options.directory,
      engine: options.engine,
      recordBytes: options.recordBytes,
      ...(options.acknowledge && { acknowledge: options.acknowledge }),
    });
  }

  /** Restores the store from the directory and begins a new segment. The store must not be used before this ends. */
  static async open(options: DiskOptions): Promise<{ disk: Disk; recovered: Recovered }> {
    const disk = new Disk(options);
    const { fileSystem } = disk;
    const { oldCopy } = options;
    const recovery = {
      fileSystem,
      directory: options.directory,
      engine: options.engine,
      nowMs: options.now(),
      expectsManifest: options.expectsManifest ?? false,
      ...(options.reDating && { reDating: options.reDating }),
      ...(options.events?.progress && { progress: options.events.progress }),
    };
    const recovered =
      oldCopy === undefined ? await recover(recovery) : await recoverAsNewIncarnation(recovery, oldCopy);
    disk.log.adopt(recovered.logBytes);
    disk.flushedAtMs = options.now();
    disk.snapshotBytes = recovered.snapshotBytes;
    disk.lastSaveMs = recovered.snapshotAtMs || options.now();
    if (recovered.reDated === undefined) await readUnpublished(fileSystem, options.directory, options.engine);
    else await dropUnpublished(fileSystem, options.directory);
    await disk.log.open(recovered.nextNumber, recovered.previousEnd);
    // A log of an earlier run is covered by no snapshot.
    disk.coveredBytesTotal = recovered.logBytes > 0 ? -1 : disk.log.state.totals().writtenBytesTotal;
    disk.replaced = disk.log.number - (await findDataFiles(fileSystem, options.directory)).logs.length;
    if (oldCopy !== undefined) await disk.kept.retain([oldCopy.base.segment]);
    // In the files that are there the old state would win. A crash before this is complete repeats all of it.
    if (recovered.reDated !== undefined || oldCopy !== undefined) await disk.snapshot();
    return { disk, recovered };
  }

  /** The disk holds this node's own changes in a shard up to this version: they may be sent to peers. */
  durable(shard: number): number {
    return this.log.durable(shard, OWN_ORIGIN);
  }

  /** The same for any origin, by its index: they may be reported as durable. */
  durableOf(shard: number, origin: number): number {
    return this.log.durable(shard, origin);
  }

  /** Starts the timers that write and flush. */
  start(): void {
    const { fsync } = this.options;
    const intervalMs = typeof fsync === 'number' ? fsync : BACKGROUND_FLUSH_MS;
    this.timer = setInterval(() => this.tick(), intervalMs);
    if (fsync !== 'always') this.writeTimer = setInterval(() => this.writeSome(), WRITE_MS);
  }

  /**
   * Hands all changes so far to the system, without a sync: from then on they outlive the process. Resolves also where
   * the disk fails.
   */
  async write(): Promise<void> {
    try {
      await this.log.writeNow();
    } catch (error) {
      this.fail(error as Error);
    }
  }

  /**
   * Writes all changes made before this call to disk. Calls during a flush share the next one. Rejects where the disk
   * fails. `syncs` asks for fsync also with --fsync never.
   */
  flush({ syncs = false } = {}): Promise<void> {
    if (syncs) this.mustSync = true;
    if (this.running === undefined) return this.inTurn(() => this.flushNow());
    this.following ??= this.inTurn(() => {
      this.following = undefined;
      return this.flushNow();
    });
    return this.following;
  }

  /** Writes a snapshot and removes the log it covers. A call during a snapshot gets the one under way. */
  snapshot(): Promise<void> {
    this.snapshotting ??= this.takeSnapshot().finally(() => {
      this.snapshotting = undefined;
    });
    return this.snapshotting;
  }

  /** Keeps the files that starts with these first segments have read, and no others: see KeptFiles. */
  retain(starts: readonly number[]): Promise<void> {
    return this.kept.retain(starts);
  }

  /** Writes a snapshot into another directory, from which a server can start; see DataDirectory. */
  async copyTo(directory: string): Promise<number> {
    return writeSnapshot({ fileSystem: this.fileSystem, directory, engine: this.options.engine, number: 1 });
  }

  /** Rejects with a StorageError where the last changes could not be written: they are lost. */
  async close(): Promise<void> {
    this.closed = true;
    clearInterval(this.timer);
    clearInterval(this.writeTimer);
    await this.snapshotting?.catch(() => {});
    const failure = await this.flushLast().catch((error: Error) => error);
    await this.exclusively(() => this.log.close());
    const { directory, engine } = this.options;
    // Without them rate limits start anew; that is no reason to fail a stop.
    if (!failure) return writeUnpublished(this.fileSystem, directory, engine).catch(() => {});
    throw new StorageError(
      `the data directory ${directory} could not be written at the stop (${failure.message}): ` +
        `changes since ${new Date(this.flushedAtMs).toISOString()} are lost`,
    );
  }

  private async flushLast(): Promise<void> {
    // What fails may be an earlier write: the second flush begins a segment, with all that is missing.
    await this.flush({ syncs: true }).catch(() => this.flush({ syncs: true }));
    // Where the segment was removed, a snapshot takes its place.
    await this.log.checkPresence().catch(() => this.snapshot());
  }

  /** The memory through which lanes write to the log; see LaneLog. */
  get shared(): SharedArrayBuffer {
    return this.log.state.buffer;
  }

  /** Durations of flushes and syncs, those of lanes included. */
  durations(): LogDurations {
    return this.log.state.durations();
  }

  status(): DiskStatus {
    return {
      ...this.log.state.totals(),
      isFailed: this.error !== undefined,
      lastError: this.error?.message ?? '',
      snapshotBytes: this.snapshotBytes,
      lastSaveMs: this.lastSaveMs,
      lastSnapshotFailed: this.lastSnapshotFailed,
      lastSnapshotMs: this.lastSnapshotMs,
      isSnapshotting: this.snapshotting !== undefined,
      lateFlushesTotal: this.lateFlushesTotal,
    };
  }

  private writeSome(): void {
    const { writtenBytesTotal } = this.log.state.totals();
    const isQuiet = writtenBytesTotal === this.seenBytesTotal;
    this.seenBytesTotal = writtenBytesTotal;
    // A lane that writes for its replies takes the other changes along.
    if (isQuiet) this.log.tryWrite().catch((error: Error) => this.fail(error));
  }

  private tick(): void {
    if (this.running !== undefined) {
      this.lateFlushesTotal++;
      return;
    }
    if (this.error !== undefined && this.options.now() < this.retryAtMs) return;
    this.checkPresence()
      .then(() => (this.closed ? undefined : this.flush()))
      .then(
        () => this.considerSnapshot(),
        () => {},
      );
  }

  /** Once a second. */
  private async checkPresence(): Promise<void> {
    const nowMs = performance.now();
    if (nowMs < this.checkedAtMs + CHECK_MS) return;
    this.checkedAtMs = nowMs;
    // The next segment gets all that was not durable, and a snapshot takes the place of the lost one.
    await this.log.checkPresence().catch((error: Error) => this.fail(error));
  }

  /** Flushes and rotations one after the other, in the order in which they were asked for. */
  private inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.running === undefined ? work() : this.running.then(work);
    const ended = done.then(ignore, ignore);
    this.running = ended;
    ended.then(() => {
      if (this.running === ended) this.running = undefined;
    });
    return done;
  }

  private async flushNow(): Promise<void> {
    // Records carry the time, and so keep the node's clock from running backwards over a restart.
    const startedAtMs = this.options.now();
    this.options.engine.advanceTo(startedAtMs);
    const syncs = this.mustSync || this.options.fsync !== 'never';
    this.mustSync = false;
    this.flushes.beforeFlush();
    try {
      const isBeside = this.options.fsync !== 'always' && this.log.isOpen;
      if (isBeside) await this.log.flushBeside(syncs);
      else await this.exclusively(() => this.log.flush(syncs));
    } catch (error) {
      this.fail(error as Error);
      throw error;
    }
    this.flushedAtMs = startedAtMs;
    this.flushes.afterFlush();
    // A later write may have failed already.
    if (this.error === undefined || !this.log.isOpen) return;
    this.error = undefined;
    this.options.events?.recovered?.();
  }

  private fail(error: Error): void {
    this.retryAtMs = this.options.now() + RETRY_MS;
    const isFirst = this.error === undefined;
    this.error = error;
    if (isFirst) this.options.events?.failed?.(error);
  }

  private considerSnapshot(): void {
    const isLong = this.log.state.bytes > Math.max(this.options.snapshotLogBytes, this.snapshotBytes);
    const isIncomplete = this.options.engine.dropped.takeLost();
    const { snapshotIntervalMs = Number.POSITIVE_INFINITY } = this.options;
    const isDue = this.options.now() - this.lastSaveMs >= snapshotIntervalMs;
    const isOld = isDue && this.log.state.totals().writtenBytesTotal > this.coveredBytesTotal;
    if (this.closed || !(isLong || isOld || isIncomplete || this.log.number - this.replaced > MAXIMUM_SEGMENTS)) return;
    if (this.snapshotting === undefined) this.snapshot().catch(() => {});
  }

  private async takeSnapshot(): Promise<void> {
    const { directory, engine, events } = this.options;
    const startedAtMs = performance.now();
    try {
      const number = await this.rotate();
      const coveredBytesTotal = this.log.state.totals().writtenBytesTotal;
      const bytes = await writeSnapshot({ fileSystem: this.fileSystem, directory, engine, number });
      this.snapshotBytes = bytes;
      this.lastSaveMs = this.options.now();
      this.coveredBytesTotal = coveredBytesTotal;
      this.lastSnapshotFailed = false;
      await this.dropBefore(number);
      this.lastSnapshotMs = performance.now() - startedAtMs;
      events?.snapshotTaken?.(bytes, this.lastSnapshotMs);
    } catch (error) {
      this.lastSnapshotFailed = true;
      events?.snapshotFailed?.(error as Error);
      throw error;
    }
  }

  private async rotate(): Promise<number> {
    try {
      return await this.inTurn(() => this.exclusively(() => this.log.rotate()));
    } catch (error) {
      if (!this.log.isOpen) this.fail(error as Error);
      throw error;
    }
  }

  private async exclusively<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await this.log.exclusively(work);
    } finally {
      this.flushes.diskReleased();
    }
  }

  private async dropBefore(number: number): Promise<void> {
    const { directory } = this.options;
    const { logs, snapshots } = await findDataFiles(this.fileSystem, directory);
    const covered = [
      ...logs.filter((log) => log < number).map((log) => logPath(directory, log)),
      ...snapshots.filter((snapshot) => snapshot < number).map((snapshot) => snapshotPath(directory, snapshot)),
    ];
    await this.kept.giveUp(covered);
    await this.exclusively(async () => this.log.dropBefore());
    this.replaced = number - 1;
  }
}

function ignore(): void {}
