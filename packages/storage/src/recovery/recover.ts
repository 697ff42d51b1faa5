import { availableParallelism } from 'node:os';
import { datedUntilMs, type Engine, type ReDating } from '@quotadb/engine';
import { DamagedFile, MissingData, StorageError } from '../files/errors.js';
import { type DataFiles, findDataFiles, logPath, snapshotPath } from '../files/file-names.js';
import type { FileSystem } from '../files/file-system.js';
import { FILE_HEADER_BYTES, type FileHeader } from '../format/format.js';
import { RecordScanner, type ScannedRecord } from '../format/record-scanner.js';
import { type Manifest, manifestPath, readManifest } from '../log/manifest.js';
import { estimateKeys } from './estimate-keys.js';
import type { Quarantined } from './quarantine.js';
import { RecordRestorer, type RecordTarget } from './restore-records.js';
import { RestoreThreads } from './restore-threads.js';

/** Files of fewer bytes are restored on one thread: starting others takes longer than a million keys. */
const LEAST_BYTES_FOR_THREADS = 8 * 1024 * 1024;
/** With more, memory is the bottleneck. */
const MOST_THREADS = 8;

export interface Progress {
  readonly bytes: number;
  readonly totalBytes: number;
  readonly components: number;
}

export interface RecoveryOptions {
  readonly fileSystem: FileSystem;
  readonly directory: string;
  readonly engine: Engine;
  readonly nowMs: number;
  /** A server has kept a manifest here before: without one, files may be missing. */
  readonly expectsManifest?: boolean;
  /** Asked when all is restored, with the time that the data has come to: whether it is to be dated anew, and how. */
  readonly reDating?: (dataMs: number) => ReDating | undefined;
  /** Called after each record. */
  readonly progress?: (progress: Progress) => void;
  /** For tests: threads that restore. By default one a core, where there is much to restore into a shared store. */
  readonly threads?: number | undefined;
}

/** What recovery found, and where the log goes on. */
export interface Recovered {
  readonly nextNumber: number;
  readonly previousEnd: number;
  readonly components: number;
  readonly bytes: number;
  readonly logBytes: number;
  readonly snapshotBytes: number;
  readonly snapshotAtMs: number;
  /** A torn tail that was cut off, and its length. */
  readonly cut: { readonly path: string; readonly offset: number; readonly bytes: number } | undefined;
  /** Components that could not be restored. */
  readonly quarantined: Quarantined | undefined;
  /** Components that were dated anew: the files still hold the old dates, until a snapshot takes their place. */
  readonly reDated: number | undefined;
  /** The same for an old copy that goes on as a new incarnation: components that it has got (new-incarnation.ts). */
  readonly carried?: number;
}

/** Loads the newest whole snapshot, then the log after it. */
export async function recover(options: RecoveryOptions): Promise<Recovered> {
  return new Recovery(options).run();
}

class Recovery {
  private readonly options: RecoveryOptions;
  /** This thread's part; where others restore, they are the target. */
  private readonly own: RecordRestorer;
  private target: RecordTarget;
  private threads: RestoreThreads | undefined = undefined;
  private newestMs: number;
  private hasBegun = false;
  private manifest: Manifest | undefined = undefined;
  private bytes = 0;
  private totalBytes = 0;
  private cut: Recovered['cut'] = undefined;

  constructor(options: RecoveryOptions) {
    this.options = options;
    this.own = new RecordRestorer(options.engine);
    this.target = this.own;
    this.newestMs = options.nowMs;
  }

  async run(): Promise<Recovered> {
    const { fileSystem, directory } = this.options;
    const files = await findDataFiles(fileSystem, directory);
    for (const path of files.unfinished) await fileSystem.remove(path);
    this.manifest = await readManifest(fileSystem, directory);
    this.checkManifest(files);
    this.totalBytes = await this.measure(files);
    const { snapshot, log } = await this.load(files);
    const { restore, quarantine } = this.own;
    restore.finish(this.newestMs);
    const reDating = this.options.reDating?.(datedUntilMs(this.options.engine));
    const quarantined = await quarantine.keep(fileSystem, directory, this.options.nowMs);
    // The next snapshot takes the place of the files that hold them.
    if (quarantined !== undefined) this.options.engine.dropped.markLost();
    return {
      ...log,
      components: this.target.components,
      bytes: this.bytes,
      snapshotBytes: snapshot.bytes,
      snapshotAtMs: snapshot.atMs,
      cut: this.cut,
      quarantined,
      reDated: reDating && restore.reDate(reDating),
    };
  }

  private async load(files: DataFiles) {
    try {
      const snapshot = await this.loadSnapshots(files);
      return { snapshot, log: await this.loadLogs(files, snapshot.number) };
    } finally {
      await this.threads?.close();
    }
  }

  /** The newest segment must be there, with all that was synced of it (`loadLog`). More than that may be. */
  private checkManifest({ logs }: DataFiles): void {
    const { directory, expectsManifest } = this.options;
    const { manifest } = this;
    if (manifest === undefined) {
      if (expectsManifest) throw new MissingData(`${manifestPath(directory)} is missing: other files may be too`);
      return;
    }
    if ((logs.at(-1) ?? 0) >= manifest.number) return;
    const path = logPath(directory, manifest.number);
    throw new MissingData(`${path} is missing, with ${manifest.synced} bytes of changes that were synced`);
  }

  private async measure(files: DataFiles): Promise<number> {
    const { directory, fileSystem } = this.options;
    let total = 0;
    const newest = files.snapshots.slice(-1).map((number) => snapshotPath(directory, number));
    for (const path of [...newest, ...files.logs.map((number) => logPath(directory, number))]) {
      const file = await fileSystem.openForReading(path);
      total += file.size;
      await file.close();
    }
    return total;
  }

  /** A damaged snapshot is skipped only if an older one and every segment after that are still there. */
  private async loadSnapshots({
    snapshots,
    logs,
  }: DataFiles): Promise<{ number: number; bytes: number; atMs: number }> {
    for (let index = snapshots.length - 1; index >= 0; index--) {
      try {
        return await this.loadSnapshot(snapshots[index]);
      } catch (error) {
        const older = snapshots[index - 1];
        const isCovered = older !== undefined && hasEvery(logs, older, snapshots[index]);
        if (!(error instanceof DamagedFile) || !isCovered) throw error;
      }
    }
    return { number: 1, bytes: 0, atMs: 0 };
  }

  private async loadSnapshot(number: number): Promise<{ number: number; bytes: number; atMs: number }> {
    const scanner = await RecordScanner.open(this.options.fileSystem, snapshotPath(this.options.directory, number));
    try {
      const header = this.checkHeader(scanner);
      this.own.restore.expectKeys(await estimateKeys(scanner, header));
      this.target.beginFile({ path: scanner.path, kind: header.kind, origin: header.origin });
      for (let record = await scanner.next(); record !== undefined; record = await scanner.next()) {
        await this.target.take(record);
        this.noteProgress(record);
      }
      await this.target.settle();
      if (scanner.problem !== undefined) throw new DamagedFile(scanner.path, scanner.offset, scanner.problem);
      if (!this.target.ended) throw new DamagedFile(scanner.path, scanner.offset, 'the snapshot has no end');
      return { number, bytes: scanner.size, atMs: header.begunAtMs };
    } finally {
      await scanner.close();
    }
  }

  private async loadLogs(
    { logs }: DataFiles,
    first: number,
  ): Promise<{ nextNumber: number; previousEnd: number; logBytes: number }> {
    const { directory, fileSystem } = this.options;
    const numbers = logs.filter((number) => number >= first);
    const scanners: RecordScanner[] = [];
    try {
      for (const number of numbers) scanners.push(await RecordScanner.open(fileSystem, logPath(directory, number)));
      // A segment with an incomplete header holds no records; the one before it was the last in use.
      const newest = scanners.at(-1);
      if (newest !== undefined && newest.size <= FILE_HEADER_BYTES && typeof newest.header === 'string') {
        this.checkEnd(newest, numbers.at(-1) as number, newest.size);
        scanners.pop();
        numbers.pop();
        await newest.close();
        await fileSystem.remove(newest.path);
      }
      const end = numbers.at(-1) ?? first - 1;
      if (!hasEvery(numbers, first, end + 1)) {
        const missing = rangeOf(first, end + 1).find((number) => !numbers.includes(number)) ?? first;
        throw new MissingData(`${logPath(directory, missing)} is missing, and its changes with it`);
      }
      let logBytes = 0;
      let previousEnd = 0;
      for (let index = 0; index < scanners.length; index++) {
        previousEnd = await this.loadLog(scanners[index], scanners[index + 1]);
        logBytes += previousEnd;
      }
      return { nextNumber: end + 1, previousEnd, logBytes };
    } finally {
      for (const scanner of scanners) await scanner.close();
    }
  }

  /** Returns where the whole rounds of the segment end. */
  private async loadLog(scanner: RecordScanner, following: RecordScanner | undefined): Promise<number> {
    const header = this.checkHeader(scanner);
    const limit = following === undefined ? scanner.size : this.checkHeader(following).previousEnd;
    if (limit > scanner.size) throw new DamagedFile(scanner.path, scanner.size, `the file had ${limit} bytes`);
    this.target.beginFile({ path: scanner.path, kind: header.kind, origin: header.origin });
    for (let record = await scanner.nextOfRound(limit); record !== undefined; ) {
      await this.target.take(record);
      this.noteProgress(record);
      record = await scanner.nextOfRound(limit);
    }
    await this.target.settle();
    this.checkEnd(scanner, header.number, scanner.offset);
    if (scanner.problem === undefined) {
      // A process that was killed may have written changes that it never synced; from here on they count as durable.
      if (following === undefined) await this.options.fileSystem.sync(scanner.path);
      return limit;
    }
    const { offset } = scanner;
    if (following !== undefined) throw new DamagedFile(scanner.path, offset, scanner.problem);
    for (let at = offset; ; ) {
      const later = await scanner.findBehind(at);
      if (later === undefined) break;
      if (later.syncedTo > offset) throw new DamagedFile(scanner.path, offset, scanner.problem);
      at = later.offset;
    }
    const isUnused = await scanner.isZeroFrom(offset);
    await this.options.fileSystem.truncate(scanner.path, offset);
    if (!isUnused) this.cut = { path: scanner.path, offset, bytes: scanner.size - offset };
    return offset;
  }

  /** A segment whose whole part ends before the bytes that were synced of it has lost some. */
  private checkEnd({ path, problem, size }: RecordScanner, number: number, end: number): void {
    const { manifest } = this;
    if (manifest?.number !== number || manifest.synced <= end) return;
    if (problem !== undefined && size >= manifest.synced) throw new DamagedFile(path, end, problem);
    throw new MissingData(
      `${path} ends at byte ${end}, and ${manifest.synced - end} more bytes of changes were synced`,
    );
  }

  private noteProgress({ offset, end, nowMs }: ScannedRecord): void {
    this.newestMs = Math.max(this.newestMs, nowMs);
    this.bytes += end - offset;
    const { bytes, totalBytes } = this;
    this.options.progress?.({ bytes, totalBytes, components: this.target.components });
  }

  private checkHeader({ header, path }: RecordScanner): FileHeader {
    if (typeof header === 'string') throw new DamagedFile(path, 0, header);
    const { shardCount } = this.options.engine;
    if (header.shardCount !== shardCount) {
      throw new StorageError(`${path} was written with --shards ${header.shardCount}, not ${shardCount}`);
    }
    if (!this.hasBegun) this.begin(header.begunAtMs);
    return header;
  }

  private begin(nowMs: number): void {
    const { engine } = this.options;
    this.hasBegun = true;
    this.own.begin(nowMs);
    const canShare = engine.isShared && this.totalBytes >= LEAST_BYTES_FOR_THREADS;
    const threads = this.options.threads ?? (canShare ? Math.min(availableParallelism(), MOST_THREADS) : 1);
    if (threads === 1) return;
    this.threads = new RestoreThreads(engine, this.own.quarantine, threads, nowMs);
    this.target = this.threads;
  }
}

function rangeOf(from: number, to: number): number[] {
  return Array.from({ length: Math.max(to - from, 0) }, (_, index) => from + index);
}

function hasEvery(numbers: readonly number[], from: number, to: number): boolean {
  return rangeOf(from, to).every((number) => numbers.includes(number));
}
