import { ALL_SHARDS, type Engine, Restore, type ShardShare } from '@quotadb/engine';
import { DamagedFile, StorageError } from '../files/errors.js';
import { FileKind } from '../format/format.js';
import type { ScannedRecord } from '../format/record-scanner.js';
import { SectionApplier } from './apply-sections.js';
import { Quarantine } from './quarantine.js';

/** What has to be known of the file that a record is in. */
export interface RecordFile {
  readonly path: string;
  readonly kind: FileKind;
  /** The origin that wrote it. */
  readonly origin: Uint8Array;
}

/** Where recovery puts the records of a file: into the store, or to the threads that do so. */
export interface RecordTarget {
  readonly components: number;
  /** The end of a snapshot was in the file. */
  readonly ended: boolean;
  /** Records from now on are of this file. */
  beginFile(file: RecordFile): void;
  /** Takes a whole record. The next one may follow when what it returns has resolved. */
  take(record: ScannedRecord): Promise<void> | undefined;
  /** Resolves when all records that were taken are restored. Rejects where one of the file cannot be. */
  settle(): Promise<void>;
}

/** Restores records on one thread, in the order in which they were written. */
export class RecordRestorer implements RecordTarget {
  readonly restore: Restore;
  readonly quarantine = new Quarantine();
  readonly applier: SectionApplier;
  /** The node's time in the last record; before the first, the time at which the disk's content was begun. */
  private recordMs = 0;
  private file: RecordFile | undefined = undefined;

  constructor(engine: Engine, share: ShardShare = ALL_SHARDS) {
    this.restore = new Restore(engine, this.quarantine.take, share);
    this.applier = new SectionApplier(this.restore);
  }

  begin(nowMs: number): void {
    this.recordMs = nowMs;
    this.restore.begin(nowMs);
  }

  /** Another thread has begun. */
  join(nowMs: number, knowsOthers: boolean): void {
    this.recordMs = nowMs;
    this.restore.join(nowMs, knowsOthers);
  }

  get components(): number {
    return this.applier.components;
  }

  get ended(): boolean {
    return this.applier.ended;
  }

  beginFile(file: RecordFile): void {
    this.file = file;
    this.applier.ended = false;
  }

  take({ offset, sections, nowMs }: ScannedRecord): undefined {
    const file = this.file as RecordFile;
    try {
      this.apply(file, sections, nowMs);
    } catch (error) {
      if (error instanceof StorageError) throw error;
      // The checksum is right and the content is not: another program wrote it, or a defect.
      throw new DamagedFile(file.path, offset, (error as Error).message);
    }
  }

  async settle(): Promise<void> {}

  apply({ kind, origin }: RecordFile, sections: Uint8Array, nowMs: number): void {
    this.applier.apply(sections, origin, nowMs);
    // The time of the record before: changes that were made while that one was written are in this one.
    if (kind === FileKind.log) this.restore.passTime(this.recordMs);
    this.recordMs = Math.max(this.recordMs, nowMs);
  }
}
