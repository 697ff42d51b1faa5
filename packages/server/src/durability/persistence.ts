import { mkdir, readdir } from 'node:fs/promises';
import type { Configuration } from '@quotadb/config';
import { type Acknowledgements, type Engine, type Holder, OWN_ORIGIN } from '@quotadb/engine';
import { nameOfOrigin, replicaIdOf } from '@quotadb/replication';
import type { Clock, DiskRequest } from '@quotadb/resp';
import { DiskBoard } from '@quotadb/resp';
import {
  DataDirectory,
  Disk,
  type FileSystem,
  FlushEvents,
  type LogDurations,
  type Progress,
  writeIdentity,
} from '@quotadb/storage';
import type { Logger } from 'pino';
import { recordPast } from '../tracing/tracing.js';
import { loadFlock } from './flock.js';

/** How often a long load says how far it is. */
const PROGRESS_INTERVAL_MS = 2000;
/** Figures for INFO are brought up to date this often. */
const PUBLISH_INTERVAL_MS = 100;

/** The data directory of a running server, on the main thread: who this is, what it holds, and serving the lanes' tickets. */
export class Persistence {
  readonly directory: DataDirectory;
  readonly board = new DiskBoard();
  /** Subscribe here to act before or after a flush, or when sessions that wait for the disk can go on. */
  readonly flushes = new FlushEvents();
  private readonly config: Configuration;
  private readonly clock: Clock;
  private readonly logger: Logger;
  private readonly fileSystem: FileSystem | undefined;
  private disk: Disk | undefined = undefined;
  /** The same, also when it is closed: what it holds it still does then. */
  private written: Disk | undefined = undefined;
  private serving: Promise<void> | undefined = undefined;
  private publishing: NodeJS.Timeout | undefined = undefined;

  constructor(config: Configuration, clock: Clock, logger: Logger, fileSystem?: FileSystem) {
    this.config = config;
    this.clock = clock;
    this.logger = logger;
    this.fileSystem = fileSystem;
    this.directory = DataDirectory.open({
      path: config.dataDirectory,
      region: config.region,
      cluster: config.cluster,
      replicaId: nameOfOrigin(replicaIdOf(config.cluster, config.region)),
      shardCount: config.shardCount,
      keepIncarnation: config.keepIncarnation,
      isUnsynced: config.fsync === 'never',
      flock: loadFlock(),
    });
  }

  /** Puts everything back into the store, before it serves anybody. */
  async load(engine: Engine, acknowledgements: Acknowledgements): Promise<void> {
    const { config, clock, logger } = this;
    let holder: Holder | undefined;
    const startedAtMs = clock.monotonic();
    const { disk, recovered } = await Disk.open({
      directory: this.directory.path,
      engine,
      fsync: config.fsync,
      snapshotLogBytes: config.snapshotLogBytes,
      now: () => clock.now(),
      ...(this.fileSystem && { fileSystem: this.fileSystem }),
      acknowledge: (shard, version) => {
        // At the first call the store holds what the disk does, and nothing else.
        holder ??= acknowledgements.join((other) => engine.seen(other, OWN_ORIGIN));
        holder.acknowledge(shard, version);
      },
      flushes: this.flushes,
      events: {
        progress: this.progressReporter(startedAtMs),
        failed: (error) => {
          logger.error({ err: error }, 'the disk does not take what it is given; it is tried again every second');
        },
        recovered: () => logger.warn('the disk is back, and holds everything again'),
        snapshotTaken: (bytes, milliseconds) => {
          recordPast('snapshot', milliseconds, { 'quotadb.bytes': bytes });
          logger.info({ bytes, milliseconds: Math.round(milliseconds) }, 'snapshot taken');
        },
        snapshotFailed: (error) => {
          recordPast('snapshot', 0, {}, error.message);
          logger.error({ err: error }, 'the snapshot failed; the log goes on');
        },
      },
    });
    this.disk = disk;
    this.written = disk;
    if (recovered.cut !== undefined) {
      logger.warn(
        recovered.cut,
        'the end of the log was cut short by a crash and has been removed; nothing that was synced is lost',
      );
    }
    const { bytes, components } = recovered;
    const milliseconds = Math.round(clock.monotonic() - startedAtMs);
    logger.info({ keys: engine.keyCount(), bytes, components, milliseconds, ...this.describe() }, 'data loaded');
    disk.start();
    this.publish();
    this.publishing = setInterval(() => this.publish(), PUBLISH_INTERVAL_MS);
  }

  /** What lanes need to write to the log by themselves; undefined where they need not. */
  get sharedLog(): SharedArrayBuffer | undefined {
    return this.config.fsync === 'always' ? this.disk?.shared : undefined;
  }

  /** How long flushes and syncs took, whichever thread did them; undefined before the data is loaded. */
  durations(): LogDurations | undefined {
    return this.written?.durations();
  }

  /** Up to which of this node's own changes in a shard the disk holds everything. */
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

  /** Somebody waits for what was just changed; nobody holds the ticket. */
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
    const done = request.kind === 'snapshot' ? disk.snapshot() : this.backUp(disk, request.directory);
    this.publish();
    const finish = (error: string | undefined): void => {
      // Whoever asks next must not be told that it is still under way.
      this.publish();
      answered(error);
    };
    done.then(
      () => finish(undefined),
      (error: Error) => finish(error.message),
    );
  }

  /** Resolves once everything changed so far is on disk, whatever --fsync says. */
  async sync(): Promise<void> {
    await this.disk?.flush({ syncs: true });
  }

  async close(): Promise<void> {
    clearInterval(this.publishing);
    await this.serving;
    const { disk } = this;
    this.disk = undefined;
    await disk?.close();
    this.directory.close();
  }

  /** Flushes until every ticket drawn is complete. Meanwhile the signal stays up, and nobody sends another. */
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

  private async backUp(disk: Disk, directory: string): Promise<void> {
    await mkdir(directory, { recursive: true, mode: 0o750 });
    if ((await readdir(directory)).length > 0) throw new Error(`${directory} is not empty`);
    const bytes = await disk.copyTo(directory);
    const { unsyncedSinceBoot: _, ...identity } = this.directory.identity;
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
