import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Engine, ShardShare } from '@quotadb/engine';
import { DamagedFile, StorageError } from '../files/errors.js';
import type { ScannedRecord } from '../format/record-scanner.js';
import type { Quarantine, QuarantinedLines } from './quarantine.js';
import type { RecordFile, RecordTarget } from './restore-records.js';

/** Sent to the threads at once: the records of a log are short. */
const PARCEL_BYTES = 1024 * 1024;
/** Parcels that a thread has not restored yet. They are memory beside the store. */
const MAXIMUM_WAITING = 16;

/** Started with `workerData`. */
export interface WorkerStart {
  readonly store: SharedArrayBuffer;
  readonly share: ShardShare;
  /** See Restore.join. */
  readonly begunAtMs: number;
  readonly knowsOthers: boolean;
}

/** Whole records that lie one behind another in a file, in shared memory. */
export interface Parcel {
  readonly bytes: Uint8Array;
  /** Where they begin in their file. */
  readonly offset: number;
  /** Counts files from 1. */
  readonly fileNumber: number;
  readonly file: RecordFile;
}

export interface ParcelFailure {
  /** Of the record that could not be restored. */
  readonly offset: number;
  readonly message: string;
  /** Not the fault of the file. */
  readonly isFinal: boolean;
}

export interface ParcelDone {
  readonly components: number;
  /** It held the end of a snapshot. */
  readonly isEnd: boolean;
  readonly quarantined: QuarantinedLines | undefined;
  readonly failure: ParcelFailure | undefined;
}

/** Threads run what was built and bundled, also when this file runs from its source. */
const PACKAGE = dirname(createRequire(import.meta.url).resolve('@quotadb/storage/package.json'));
const WORKER = join(PACKAGE, 'dist/bundle/restore-worker.js');

/**
 * Restores records on several threads. This one reads and checks them; each of the others gets all of them, in order,
 * and restores its share of the shards: a record of a log has changes of many shards, and passing over those of others
 * costs a twentieth of restoring them.
 */
export class RestoreThreads implements RecordTarget {
  components = 0;
  ended = false;
  private readonly quarantine: Quarantine;
  private readonly workers: readonly Worker[];
  /** By worker: parcels that it has not restored yet. */
  private readonly waiting: number[];
  private parcel: Uint8Array | undefined = undefined;
  private parcelStart = 0;
  private parcelLength = 0;
  private file: RecordFile | undefined = undefined;
  private fileNumber = 0;
  private failure: ParcelFailure | undefined = undefined;
  /** A thread ended. */
  private crash: Error | undefined = undefined;
  private wake: (() => void) | undefined = undefined;

  constructor(engine: Engine, quarantine: Quarantine, threads: number, begunAtMs: number) {
    this.quarantine = quarantine;
    this.waiting = new Array<number>(threads).fill(0);
    const store = engine.buffer as SharedArrayBuffer;
    const begun = { begunAtMs, knowsOthers: engine.origins.count > 1 };
    this.workers = this.waiting.map((_, index) => {
      const share = { index, count: threads };
      const start: WorkerStart = { store, share, ...begun };
      // Flags of the main thread, such as import conditions of a test runner, do not fit the built files.
      const worker = new Worker(WORKER, { workerData: start, name: `restore-${index}`, execArgv: [] });
      worker.on('message', (done: ParcelDone) => this.note(index, done));
      worker.on('error', (error) => this.fail(error));
      worker.on('exit', () => this.fail(new Error('a thread that restores ended')));
      return worker;
    });
  }

  beginFile(file: RecordFile): void {
    this.file = file;
    this.fileNumber++;
    this.ended = false;
  }

  /** Where the threads have enough to do, the next record waits for them. */
  take(record: ScannedRecord): Promise<void> | undefined {
    const { bytes } = record;
    const isNext = record.offset === this.parcelStart + this.parcelLength;
    if (this.parcel !== undefined && (!isNext || this.parcelLength + bytes.length > this.parcel.length)) this.send();
    if (this.parcel === undefined) {
      this.parcel = new Uint8Array(new SharedArrayBuffer(Math.max(PARCEL_BYTES, bytes.length)));
      this.parcelStart = record.offset;
      this.parcelLength = 0;
    }
    this.parcel.set(bytes, this.parcelLength);
    this.parcelLength += bytes.length;
    return this.crash === undefined && this.mostWaiting < MAXIMUM_WAITING ? undefined : this.waitFor(MAXIMUM_WAITING);
  }

  async settle(): Promise<void> {
    if (this.parcel !== undefined) this.send();
    await this.waitFor(1);
    const { failure } = this;
    this.failure = undefined;
    if (failure?.isFinal) throw new StorageError(failure.message);
    if (failure !== undefined) throw new DamagedFile(this.file?.path ?? '', failure.offset, failure.message);
  }

  async close(): Promise<void> {
    for (const worker of this.workers) worker.removeAllListeners();
    await Promise.all(this.workers.map((worker) => worker.terminate()));
  }

  private send(): void {
    const { parcel, parcelStart: offset, parcelLength, fileNumber, file } = this;
    if (parcel === undefined || file === undefined) return;
    const message: Parcel = { bytes: parcel.subarray(0, parcelLength), offset, fileNumber, file };
    this.workers.forEach((worker, index) => {
      this.waiting[index]++;
      worker.postMessage(message);
    });
    this.parcel = undefined;
  }

  private get mostWaiting(): number {
    return Math.max(...this.waiting);
  }

  /** Until every thread has fewer parcels than this to restore. */
  private async waitFor(fewer: number): Promise<void> {
    while (this.crash === undefined && this.mostWaiting >= fewer)
      await new Promise<void>((resolve) => {
        this.wake = resolve;
      });
    if (this.crash !== undefined) throw this.crash;
  }

  private note(index: number, { components, isEnd, quarantined, failure }: ParcelDone): void {
    this.waiting[index]--;
    this.components += components;
    this.ended ||= isEnd;
    try {
      if (quarantined !== undefined) this.quarantine.add(quarantined);
    } catch (error) {
      this.fail(error as Error);
    }
    // The first in the file: what a single thread would have come upon.
    if (failure !== undefined && !(this.failure !== undefined && this.failure.offset <= failure.offset))
      this.failure = failure;
    this.wake?.();
  }

  private fail(error: Error): void {
    this.crash ??= error;
    this.wake?.();
  }
}
