import { datedUntilMs, type Engine, type ReDating, Restore } from '@quotadb/engine';
import { SectionApplier } from './apply-sections.js';
import { DamagedFile, MissingData, StorageError } from './errors.js';
import { type DataFiles, findDataFiles, logPath, snapshotPath } from './file-names.js';
import type { FileSystem } from './file-system.js';
import { FILE_HEADER_BYTES, type FileHeader, FileKind } from './format.js';
import { type Manifest, manifestPath, readManifest } from './manifest.js';
import { Quarantine, type Quarantined } from './quarantine.js';
import { RecordScanner, type ScannedRecord } from './record-scanner.js';

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
}

/** Loads the newest whole snapshot, then the log after it. */
export async function recover(options: RecoveryOptions): Promise<Recovered> {
  return new Recovery(options).run();
}

class Recovery {
  private readonly options: RecoveryOptions;
  private readonly restore: Restore;
  private readonly quarantine = new Quarantine();
  private readonly applier: SectionApplier;
  private newestMs: number;
  /** The node's time in the last record; 0 before the first. */
  private recordMs = 0;
  private manifest: Manifest | undefined = undefined;
  private bytes = 0;
  private totalBytes = 0;
  private cut: Recovered['cut'] = undefined;

  constructor(options: RecoveryOptions) {
    this.options = options;
    this.restore = new Restore(options.engine, this.quarantine.take);
    this.applier = new SectionApplier(this.restore);
    this.newestMs = options.nowMs;
  }

  async run(): Promise<Recovered> {
    const { fileSystem, directory } = this.options;
    const files = await findDataFiles(fileSystem, directory);
    for (const path of files.unfinished) await fileSystem.remove(path);
    this.manifest = await readManifest(fileSystem, directory);
    this.checkManifest(files);
    this.totalBytes = await this.measure(files);
    const snapshot = await this.loadSnapshots(files);
    const { logBytes, ...log } = await this.loadLogs(files, snapshot.number);
    this.restore.finish(this.newestMs);
    const reDating = this.options.reDating?.(datedUntilMs(this.options.engine));
    const quarantined = await this.quarantine.keep(fileSystem, directory, this.options.nowMs);
    // The next snapshot takes the place of the files that hold them.
    if (quarantined !== undefined) this.options.engine.dropped.markLost();
    return {
      ...log,
      logBytes,
      components: this.applier.components,
      bytes: this.bytes,
      snapshotBytes: snapshot.bytes,
      snapshotAtMs: snapshot.atMs,
      cut: this.cut,
      quarantined,
      reDated: reDating && this.restore.reDate(reDating),
    };
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
      this.applier.ended = false;
      for (let record = await scanner.next(); record !== undefined; record = await scanner.next()) {
        this.apply(scanner, record, header);
      }
      if (scanner.problem !== undefined) throw new DamagedFile(scanner.path, scanner.offset, scanner.problem);
      if (!this.applier.ended) throw new DamagedFile(scanner.path, scanner.offset, 'the snapshot has no end');
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

  /** Returns where the whole part of the segment ends. */
  private async loadLog(scanner: RecordScanner, following: RecordScanner | undefined): Promise<number> {
    const header = this.checkHeader(scanner);
    const limit = following === undefined ? scanner.size : this.checkHeader(following).previousEnd;
    if (limit > scanner.size) throw new DamagedFile(scanner.path, scanner.size, `the file had ${limit} bytes`);
    for (let record = await scanner.next(limit); record !== undefined; record = await scanner.next(limit)) {
      this.apply(scanner, record, header);
    }
    const { manifest } = this;
    if (manifest?.number === header.number && manifest.synced > scanner.offset) {
      const { offset, path, problem, size } = scanner;
      if (problem !== undefined && size >= manifest.synced) throw new DamagedFile(path, offset, problem);
      const gone = manifest.synced - offset;
      throw new MissingData(`${path} ends at byte ${offset}, and ${gone} more bytes of changes were synced`);
    }
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

  private apply(scanner: RecordScanner, record: ScannedRecord, header: FileHeader): void {
    try {
      this.applier.apply(record.sections, header.origin, record.nowMs);
    } catch (error) {
      if (error instanceof StorageError) throw error;
      // The checksum is right and the content is not: another program wrote it, or a defect.
      throw new DamagedFile(scanner.path, record.offset, (error as Error).message);
    }
    // The time of the record before: changes that were made while that one was written are in this one.
    if (header.kind === FileKind.log) this.restore.passTime(this.recordMs);
    this.recordMs = Math.max(this.recordMs, record.nowMs);
    this.newestMs = Math.max(this.newestMs, record.nowMs);
    this.bytes += record.end - record.offset;
    this.options.progress?.({
      bytes: this.bytes,
      totalBytes: this.totalBytes,
      components: this.applier.components,
    });
  }

  private checkHeader({ header, path }: RecordScanner): FileHeader {
    if (typeof header === 'string') throw new DamagedFile(path, 0, header);
    const { shardCount } = this.options.engine;
    if (header.shardCount !== shardCount) {
      throw new StorageError(`${path} was written with --shards ${header.shardCount}, not ${shardCount}`);
    }
    if (this.recordMs === 0) {
      this.recordMs = header.begunAtMs;
      this.restore.begin(header.begunAtMs);
    }
    return header;
  }
}

function rangeOf(from: number, to: number): number[] {
  return Array.from({ length: Math.max(to - from, 0) }, (_, index) => from + index);
}

function hasEvery(numbers: readonly number[], from: number, to: number): boolean {
  return rangeOf(from, to).every((number) => numbers.includes(number));
}
