import { parentPort, workerData } from 'node:worker_threads';
import { Engine } from '@quotadb/engine';
import { StorageError } from '../files/errors.js';
import { decodeRecordHeader, RECORD_HEADER_BYTES } from '../format/format.js';
import { RecordRestorer } from './restore-records.js';
import type { Parcel, ParcelDone, ParcelFailure, WorkerStart } from './restore-threads.js';

/** A thread that restores its share of the shards; see RestoreThreads. */
const { store, share, begunAtMs, knowsOthers } = workerData as WorkerStart;
const restorer = new RecordRestorer(Engine.attach(store), share);
restorer.join(begunAtMs, knowsOthers);
/** The file in which a record could not be restored: the rest of it is left out. */
let failedFile = 0;

parentPort?.on('message', (parcel: Parcel) => {
  const { applier, quarantine } = restorer;
  const failure = parcel.fileNumber === failedFile ? undefined : restoreAll(parcel);
  if (failure !== undefined) failedFile = parcel.fileNumber;
  const done: ParcelDone = {
    components: applier.components,
    isEnd: applier.ended,
    quarantined: quarantine.takeAll(),
    failure,
  };
  applier.components = 0;
  applier.ended = false;
  parentPort?.postMessage(done);
});

function restoreAll({ bytes, offset, file }: Parcel): ParcelFailure | undefined {
  let at = 0;
  try {
    while (at < bytes.length) {
      // The main thread has checked it.
      const header = decodeRecordHeader(bytes.subarray(at, at + RECORD_HEADER_BYTES));
      if (header === undefined) throw new Error('no record begins here');
      restorer.apply(file, bytes.subarray(at + RECORD_HEADER_BYTES, at + header.bytes), header.nowMs);
      at += header.bytes;
    }
    return undefined;
  } catch (error) {
    return { offset: offset + at, message: (error as Error).message, isFinal: error instanceof StorageError };
  }
}
