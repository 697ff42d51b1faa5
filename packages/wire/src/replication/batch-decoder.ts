import { type Batch, ORIGIN_ID_BYTES } from '@quotadb/engine';
import { BatchField } from './batch-fields.js';
import {
  MAXIMUM_CANCELLED_ORIGINS,
  MAXIMUM_CANCELS,
  MAXIMUM_COMPONENTS,
  MAXIMUM_KEY_BYTES,
  MAXIMUM_SHARD,
} from './bounds.js';
import { AmountColumn, NumberColumn } from './columns.js';
import { FrameError } from './frames.js';
import type { ProtoReader } from './proto-reader.js';
import { copyBytes, WireType } from './proto-writer.js';

/**
 * Columns may come in any order and in pieces, so each is read to its end first, into arrays that are reused for the
 * next batch. When all are read, their lengths are checked, and they become the batch. Decoding is never interrupted,
 * so one set of columns is enough.
 */
const keyLengths = new NumberColumn('key lengths', MAXIMUM_COMPONENTS);
const versionDeltas = new NumberColumn('versions', MAXIMUM_COMPONENTS);
const ages = new NumberColumn('ages', MAXIMUM_COMPONENTS);
const positives = new AmountColumn('P', MAXIMUM_COMPONENTS);
const absentAt = new NumberColumn('absent components', MAXIMUM_COMPONENTS);
const negativeAt = new NumberColumn('places of N', MAXIMUM_COMPONENTS);
const negatives = new AmountColumn('N', MAXIMUM_COMPONENTS);
const expiryAt = new NumberColumn('places of expiries', MAXIMUM_COMPONENTS);
const expiresAtMs = new NumberColumn('expiries', MAXIMUM_COMPONENTS);
const decided = new NumberColumn('versions of expiries', MAXIMUM_COMPONENTS);
const floorAt = new NumberColumn('places of floors', MAXIMUM_COMPONENTS);
const floorsMs = new NumberColumn('floors', MAXIMUM_COMPONENTS);
const cancelAt = new NumberColumn('places of cancels', MAXIMUM_CANCELS);
const cancelOrigin = new NumberColumn('cancelled origins', MAXIMUM_CANCELS);
const cancelBorn = new NumberColumn('cancelled generations', MAXIMUM_CANCELS);
const cancelPositives = new AmountColumn('cancelled P', MAXIMUM_CANCELS);
const cancelNegatives = new AmountColumn('cancelled N', MAXIMUM_CANCELS);

const columnOf: (NumberColumn | AmountColumn | undefined)[] = [];
columnOf[BatchField.keyLengths] = keyLengths;
columnOf[BatchField.versionDeltas] = versionDeltas;
columnOf[BatchField.ages] = ages;
columnOf[BatchField.positives] = positives;
columnOf[BatchField.absentAt] = absentAt;
columnOf[BatchField.negativeAt] = negativeAt;
columnOf[BatchField.negatives] = negatives;
columnOf[BatchField.expiryAt] = expiryAt;
columnOf[BatchField.expiresAtMs] = expiresAtMs;
columnOf[BatchField.decided] = decided;
columnOf[BatchField.floorAt] = floorAt;
columnOf[BatchField.floorsMs] = floorsMs;
columnOf[BatchField.cancelAt] = cancelAt;
columnOf[BatchField.cancelOrigin] = cancelOrigin;
columnOf[BatchField.cancelBorn] = cancelBorn;
columnOf[BatchField.cancelPositives] = cancelPositives;
columnOf[BatchField.cancelNegatives] = cancelNegatives;
const columns = columnOf.filter((column) => column !== undefined);

/** Fills the batch from the fields between the reader's position and its limit. */
export function readBatch(reader: ProtoReader, batch: Batch): void {
  for (let index = 0; index < columns.length; index++) columns[index].count = 0;
  const cancelledOrigins: Uint8Array[] = [];
  let hasOrigin = false;
  let keysStart = 0;
  let keysEnd = 0;
  batch.clear();
  batch.shardIndex = 0;
  batch.walk = 0;
  batch.start = 0;
  batch.from = 0;
  batch.reached = 0;
  while (reader.next()) {
    const column = columnOf[reader.field];
    if (column !== undefined) column.read(reader);
    else if (reader.field === BatchField.shard) batch.shardIndex = number(reader, MAXIMUM_SHARD, 'the shard');
    else if (reader.field === BatchField.origin) {
      // Nearly always that of the batch before.
      const end = reader.lengthDelimited();
      if (!isSame(batch.origin, reader.bytes, reader.position, end))
        batch.origin = originOf(reader.bytes.subarray(reader.position, end));
      reader.position = end;
      hasOrigin = true;
    } else if (reader.field === BatchField.walk) batch.walk = number(reader);
    else if (reader.field === BatchField.start) batch.start = number(reader);
    else if (reader.field === BatchField.from) batch.from = number(reader);
    else if (reader.field === BatchField.reached) batch.reached = number(reader);
    else if (reader.field === BatchField.to) batch.to = number(reader);
    else if (reader.field === BatchField.keys) {
      keysEnd = reader.lengthDelimited();
      keysStart = reader.position;
      reader.position = keysEnd;
    } else if (reader.field === BatchField.cancelledOrigins) {
      if (cancelledOrigins.length === MAXIMUM_CANCELLED_ORIGINS) throw new FrameError('too many cancelled origins');
      cancelledOrigins.push(originOf(reader.bytesValue()));
    } else reader.skip();
  }
  if (!hasOrigin) throw new FrameError('a batch has no origin');
  fillDense(batch, keysEnd - keysStart);
  copyBytes(reader.bytes, keysStart, keysEnd, batch.keyBytes, 0);
  fillSparse(batch);
  fillCancels(batch, cancelledOrigins);
  batch.count = keyLengths.count;
}

function number(reader: ProtoReader, maximum = Number.MAX_SAFE_INTEGER, what = 'a number'): number {
  reader.expect(WireType.varint);
  return reader.uint32(maximum, what);
}

/** A copy: the frame's bytes are reused, and the array in the batch may be in use where it was filled before. */
function originOf(bytes: Uint8Array): Uint8Array {
  if (bytes.length !== ORIGIN_ID_BYTES)
    throw new FrameError(`an origin has ${ORIGIN_ID_BYTES} bytes, not ${bytes.length}`);
  return Uint8Array.from(bytes);
}

/** Whether an origin is that in bytes `start` to `end`. */
function isSame(origin: Uint8Array, bytes: Uint8Array, start: number, end: number): boolean {
  if (origin.length !== ORIGIN_ID_BYTES || end - start !== ORIGIN_ID_BYTES) return false;
  for (let at = 0; at < ORIGIN_ID_BYTES; at++) if (origin[at] !== bytes[start + at]) return false;
  return true;
}

function fillDense(batch: Batch, keyBytes: number): void {
  const { count } = keyLengths;
  versionDeltas.expectCount(count);
  ages.expectCount(count);
  positives.expectCount(count);
  batch.reserveAll(count, keyBytes);
  let keyEnd = 0;
  let version = 0;
  for (let index = 0; index < count; index++) {
    const length = keyLengths.values[index];
    if (length > MAXIMUM_KEY_BYTES)
      throw new FrameError(`a key has ${length} bytes: at most ${MAXIMUM_KEY_BYTES} are possible`);
    keyEnd += length;
    version += versionDeltas.values[index];
    if (version > Number.MAX_SAFE_INTEGER) throw new FrameError('a version is past 2^53 - 1');
    if (ages.values[index] > version) throw new FrameError('a generation is older than version 0');
    batch.keyEnd[index] = keyEnd;
    batch.version[index] = version;
    batch.born[index] = version - ages.values[index];
    batch.positiveHigh[index] = positives.high[index];
    batch.positiveLow[index] = positives.low[index];
    batch.present[index] = 1;
    batch.negativeHigh[index] = 0;
    batch.negativeLow[index] = 0;
    batch.expiresAtMs[index] = 0;
    batch.decided[index] = 0;
    batch.floorMs[index] = 0;
  }
  if (keyEnd !== keyBytes) throw new FrameError(`the keys have ${keyBytes} bytes, and lengths for ${keyEnd}`);
}

function fillSparse(batch: Batch): void {
  const { count } = keyLengths;
  absentAt.toPlaces(count);
  for (let entry = 0; entry < absentAt.count; entry++) batch.present[absentAt.values[entry]] = 0;
  negativeAt.toPlaces(count);
  negatives.expectCount(negativeAt.count);
  for (let entry = 0; entry < negativeAt.count; entry++) {
    batch.negativeHigh[negativeAt.values[entry]] = negatives.high[entry];
    batch.negativeLow[negativeAt.values[entry]] = negatives.low[entry];
  }
  expiryAt.toPlaces(count);
  expiresAtMs.expectCount(expiryAt.count);
  decided.expectCount(expiryAt.count);
  for (let entry = 0; entry < expiryAt.count; entry++) {
    batch.expiresAtMs[expiryAt.values[entry]] = expiresAtMs.values[entry];
    batch.decided[expiryAt.values[entry]] = decided.values[entry];
  }
  floorAt.toPlaces(count);
  floorsMs.expectCount(floorAt.count);
  for (let entry = 0; entry < floorAt.count; entry++) batch.floorMs[floorAt.values[entry]] = floorsMs.values[entry];
}

function fillCancels(batch: Batch, origins: readonly Uint8Array[]): void {
  const { count } = keyLengths;
  cancelAt.toPlaces(count);
  cancelOrigin.expectCount(cancelAt.count);
  cancelBorn.expectCount(cancelAt.count);
  cancelPositives.expectCount(cancelAt.count);
  cancelNegatives.expectCount(cancelAt.count);
  let entry = 0;
  for (let index = 0; index < count; index++) {
    for (; entry < cancelAt.count && cancelAt.values[entry] === index; entry++) {
      const origin = origins[cancelOrigin.values[entry]];
      if (origin === undefined) throw new FrameError('a cancel names an origin that is not listed');
      batch.cancels.push({
        origin,
        born: cancelBorn.values[entry],
        positive: cancelPositives.bigintAt(entry),
        negative: cancelNegatives.bigintAt(entry),
      });
    }
    batch.cancelEnd[index] = entry;
  }
}
