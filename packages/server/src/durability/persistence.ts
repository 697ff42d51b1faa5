import { backupDirectoryOf, type Configuration } from '@quotadb/config';
import {
  type Acknowledgements,
  admittedUntilMs,
  aheadMs,
  type Engine,
  type Holder,
  OWN_ORIGIN,
  printDuration,
  type ReDating,
} from '@quotadb/engine';
import { type ClockNote, nameOfOrigin, reDatingOf, replicaIdOf } from '@quotadb/replication';
import type { Clock, DiskRequest } from '@quotadb/resp';
import { DiskBoard } from '@quotadb/resp';
import {
  DataDirectory,
  Disk,
  type FileSystem,
  FlushEvents,
  type LogDurations,
  type LogPlace,
  type Progress,
  writeIdentity,
} from '@quotadb/storage';
import { serverName } from '@quotadb/wire';
import type { Logger } from 'pino';
import { recordPast } from '../tracing/tracing.js';
import { makeBackupDirectory } from './backup-directory.js';
import { readClockNote, writeClockNote } from './clock-note.js';
import { loadFlock } from './flock.js';

/** How often a long load logs its progress. */
const PROGRESS_INTERVAL_MS = 2000;
/** How often the figures for INFO are updated. */
const PUBLISH_INTERVAL_MS = 100;

/** The data directory of a running server, on the main thread: identity, load, and flushes for the lanes' tickets. */
export class Persistence {
  readonly directory: DataDirectory;
  readonly board = new DiskBoard();
  /** Subscribe here to act before or after a flush, or when sessions that wait for the disk can go on. */
  readonly flushes = new FlushEvents();
  /** When the data was dated anew, at this start. */
  reDatedAtMs: number | undefined = undefined;
  /** The time that the data had come to before. */
  private dataMs = 0;
  private readonly config: Configuration;
  private readonly clock: Clock;
  private readonly logger: Logger;
  private readonly fileSystem: FileSystem | undefined;
  private disk: Disk | undefined = undefined;
  /** The same, also after it is closed: its durable versions and durations stay readable. */
  private written: Disk | undefined = undefined;
  private place: LogPlace = { segment: 1, previousEnd: 0 };
  private isBackingUp = false;
  private serving: Promise<void> | undefined = undefined;
  private publishing: NodeJS.Timeout | undefined = undefined;

  constructor(config: Configuration, clock: Clock, logger: Logger, fileSystem?: FileSystem) {
    this.config = config;
    this.clock = clock;
    this.logger = logger;
    this.fileSystem = fileSystem;
    this.directory = DataDirectory.open({
      path: config.dataDirectory,
      region: serverName(config),
      cluster: config.cluster,
      replicaId: nameOfOrigin(replicaIdOf(config.cluster, serverName(config))),
      shardCount: config.shardCount,
      keepIncarnation: config.keepIncarnation,
      isUnsynced: config.fsync === 'never',
      flock: loadFlock(),
    });
  }

  /** Reads the data back into the store, before the first client is served. */
  async load(engine: Engine, acknowledgements: Acknowledgements, hasMembers: boolean): Promise<void> {
    const { config, clock, logger } = this;
    let holder: Holder | undefined;
    const startedAtMs = clock.monotonic();
    const { disk, recovered } = await Disk.open({
      directory: this.directory.path,
      engine,
      fsync: config.fsync,
      snapshotLogBytes: config.snapshotLogBytes,
      snapshotIntervalMs: config.snapshotIntervalSeconds === 0 ? undefined : config.snapshotIntervalSeconds * 1_000,
      now: () => clock.now(),
      reDating: (dataMs) => this.reDating(dataMs, hasMembers || engine.origins.count > 1),
      expectsManifest: this.directory.identity.hasManifest ?? false,
      oldCopy: this.directory.oldCopy,
      ...(this.fileSystem && { fileSystem: this.fileSystem }),
      acknowledge: (shard, version) => {
        // At the first call the store holds exactly what the disk holds.
        holder ??= acknowledgements.join((other) => engine.seen(other, OWN_ORIGIN));
        holder.acknowledge(shard, version);
      },
      flushes: this.flushes,
      events: {
        progress: this.progressReporter(startedAtMs),
        failed: (error) => {
          logger.error({ err: error }, 'a write to the data directory failed; it is tried again every second');
        },
        recovered: () => logger.warn('the data directory takes writes again, and holds all changes'),
        snapshotTaken: (bytes, milliseconds) => {
          recordPast('snapshot', milliseconds, { 'quotadb.bytes': bytes });
          logger.info({ bytes, milliseconds: Math.round(milliseconds) }, 'snapshot taken');
        },
        snapshotFailed: (error) => {
          recordPast('snapshot', 0, {}, error.message);
          logger.error({ err: error }, 'the snapshot failed; the log keeps growing until one succeeds');
        },
      },
    });
    this.disk = disk;
    this.written = disk;
    this.place = { segment: recovered.nextNumber, previousEnd: recovered.previousEnd };
    this.directory.noteNewIncarnation();
    this.directory.noteManifest();
    if (recovered.carried !== undefined) this.logNewIncarnation(recovered.carried);
    if (recovered.cut !== undefined) {
      logger.warn(
        recovered.cut,
        'the last record of the log was cut short, and is removed; all that is known to have been synced is there',
      );
    }
    if (recovered.quarantined !== undefined) {
      const { path, reason, components } = recovered.quarantined;
      logger.error(
        { path, reason, components },
        `${components} ${components === 1 ? 'component' : 'components'} of the data directory cannot be restored and ` +
          `are left out, kept in ${path}; the first because of its ${reason}. All others are restored`,
      );
    }
    if (recovered.reDated === undefined) this.checkClock(engine);
    else this.noteReDated(recovered.reDated);
    // Of no use any more where the data is not ahead, and misleading one day.
    if (!this.isAhead(engine.nowMs)) this.keepClockNote(undefined);
    const { bytes, components } = recovered;
    const milliseconds = Math.round(clock.monotonic() - startedAtMs);
    logger.info({ keys: engine.keyCount(), bytes, components, milliseconds, ...this.describe() }, 'data loaded');
    disk.start();
    this.publish();
    this.publishing = setInterval(() => this.publish(), PUBLISH_INTERVAL_MS);
  }

  private logNewIncarnation(components: number): void {
    const { path, identity, oldCopy } = this.directory;
    this.logger.warn(
      { origin: oldCopy?.origin, incarnation: identity.incarnation, components },
      `the data in ${path} is an old copy of what peers hold, and goes on as a new incarnation: what was counted ` +
        `here since it was copied is its own (${components} ${components === 1 ? 'component' : 'components'}), and ` +
        'peers send the rest. Tokens of quotas that it held are not its own any more',
    );
  }

  /** For replication: see StartKeeper. Of loaded data. */
  get startDisk() {
    return {
      directory: this.directory.path,
      place: this.place,
      isNewIncarnation: this.directory.isNewIncarnation,
      retain: async (segments: readonly number[]) => this.disk?.retain(segments),
    };
  }

  private isAhead(dataMs: number): boolean {
    return dataMs > admittedUntilMs(this.clock.now(), this.config.clockSkewBoundMs);
  }

  private reDating(dataMs: number, hasPeers: boolean): ReDating | undefined {
    if (this.directory.isNewIncarnation) return undefined;
    const nowMs = this.clock.now();
    const { clockSkewBoundMs: skewBoundMs, shardCount } = this.config;
    const note = readClockNote(this.directory.path);
    const reDating = reDatingOf({ dataMs, nowMs, skewBoundMs, shardCount, hasPeers, note });
    if (reDating === undefined) return undefined;
    this.reDatedAtMs = nowMs;
    this.dataMs = dataMs;
    return reDating;
  }

  private noteReDated(components: number): void {
    const { dataMs, reDatedAtMs = 0 } = this;
    this.logger.warn(
      { dataMs, clockMs: reDatedAtMs, components },
      `the data in ${this.directory.path} was written when the clock was ${printDuration(dataMs - reDatedAtMs)} ` +
        `ahead of what it is now. It is dated anew: ${components} own ` +
        `${components === 1 ? 'component' : 'components'}. Counts stay, expiries have what was left of them, and ` +
        'unpublished counts of rate limits start anew',
    );
  }

  /** For the next start; see clock-note.ts. */
  keepClockNote(note: ClockNote | undefined): void {
    try {
      writeClockNote(this.directory.path, note);
    } catch (error) {
      this.logger.error({ err: error }, 'clock.json could not be written; data that is dated ahead stays so');
    }
  }

  /** Time never goes back, so data from a clock that was far ahead keeps the node's time there. */
  private checkClock(engine: Engine): void {
    const aheadOfMs = engine.nowMs - this.clock.now();
    if (aheadOfMs <= aheadMs(this.config.clockSkewBoundMs)) return;
    this.logger.error(
      { dataMs: engine.nowMs, clockMs: this.clock.now() },
      `the data in ${this.directory.path} was written when the clock was ${printDuration(aheadOfMs)} ahead of what ` +
        'it is now: the time of this server stands still until then, and other regions refuse what it writes. If the ' +
        'clock is right now, let it connect to its peers and restart it: their clocks show that, and the ' +
        'data is dated anew',
    );
  }

  /** The memory through which lanes write to the log; undefined before the data is loaded. */
  get sharedLog(): SharedArrayBuffer | undefined {
    return this.disk?.shared;
  }

  /** Durations of flushes and syncs, of all threads; undefined before the data is loaded. */
  durations(): LogDurations | undefined {
    return this.written?.durations();
  }

  /** The version up to which the disk holds this node's own changes in a shard. */
  durable(shard: number): number {
    return this.written?.durable(shard) ?? 0;
  }

  /** The same for the changes of any origin, by its index. */
  durableOf(shard: number, origin: number): number {
    return this.disk?.durableOf(shard, origin) ?? 0;
  }

  signal(): void {
    this.serving ??= this.serve().finally(() => {
      this.serving = undefined;
    });
  }

  /** Resolves once the system has all changes so far, or the disk fails. */
  async write(): Promise<void> {
    await this.disk?.write();
  }

  /** Resolves once the disk has all changes so far; rejects where it fails. */
  async flush(): Promise<void> {
    if (this.disk === undefined) throw new Error('the data directory is closed');
    await this.disk.flush();
  }

  /** Flushes the latest changes soon, for a waiter that needs no ticket of its own. */
  flushSoon(): void {
    this.board.draw();
    this.signal();
  }

  ask(request: DiskRequest, answered: (error: string | undefined) => void): void {
    const { disk } = this;
    if (disk === undefined) {
      answered('the data directory is closed');
      return;
    }
    const done = request.kind === 'snapshot' ? disk.snapshot() : this.backUpAlone(disk, request.directory);
    this.publish();
    const finish = (error: string | undefined): void => {
      // Before the answer: the board must not show the snapshot as still running to the next command.
      this.publish();
      answered(error);
    };
    done.then(
      () => finish(undefined),
      (error: Error) => finish(error.message),
    );
  }

  /** Resolves once all changes so far are on disk, for every value of --fsync. */
  async sync(): Promise<void> {
    await this.disk?.flush({ syncs: true });
  }

  /** Rejects where the last changes could not be written. */
  async close(): Promise<void> {
    clearInterval(this.publishing);
    await this.serving;
    const { disk } = this;
    this.disk = undefined;
    let isWritten = false;
    try {
      await disk?.close();
      isWritten = true;
    } finally {
      this.directory.close(isWritten);
    }
  }

  /** Flushes until every ticket drawn is complete. Meanwhile the signal stays up, so that no lane sends another. */
  private async serve(): Promise<void> {
    const { board } = this;
    for (;;) {
      const ticket = board.lastDrawn();
      let isDurable = this.disk !== undefined;
      try {
        await this.disk?.flush({ syncs: true });
      } catch {
        isDurable = false;
      }
      this.publish();
      board.complete(ticket, isDurable);
      this.flushes.diskReleased();
      if (board.lastDrawn() !== ticket) continue;
      board.lowerSignal();
      // A ticket drawn before the signal was lowered came without one; one drawn after it comes with its own.
      if (board.lastDrawn() === ticket || !board.raiseSignal()) return;
    }
  }

  private publish(): void {
    if (this.disk !== undefined) this.board.publish(this.disk.status());
  }

  /** One at a time: each walks the whole store. */
  private async backUpAlone(disk: Disk, given: string): Promise<void> {
    if (this.isBackingUp) throw new Error('another backup is being written');
    this.isBackingUp = true;
    try {
      await this.backUp(disk, await makeBackupDirectory(backupDirectoryOf(this.config), given));
    } finally {
      this.isBackingUp = false;
    }
  }

  private async backUp(disk: Disk, directory: string): Promise<void> {
    const bytes = await disk.copyTo(directory);
    const { unsyncedSinceBoot: _, hasManifest: __, ...identity } = this.directory.identity;
    writeIdentity(directory, { ...identity, isBackup: true });
    this.logger.info({ directory, bytes }, 'backup written');
  }

  private describe(): object {
    const { replicaId, incarnation } = this.directory.identity;
    return { data: this.directory.path, replicaId, incarnation, isNewIncarnation: this.directory.isNewIncarnation };
  }

  private progressReporter(startedAtMs: number): (progress: Progress) => void {
    let reportedAtMs = startedAtMs;
    return ({ bytes, totalBytes, components }) => {
      const nowMs = this.clock.monotonic();
      if (nowMs - reportedAtMs < PROGRESS_INTERVAL_MS) return;
      reportedAtMs = nowMs;
      const perSecond = Math.round((components * 1000) / (nowMs - startedAtMs));
      const percent = Math.floor((bytes * 100) / Math.max(totalBytes, 1));
      this.logger.info({ bytes, totalBytes, percent, components, perSecond }, 'loading');
    };
  }
}
