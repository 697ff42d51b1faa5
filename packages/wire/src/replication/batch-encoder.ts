import { type Batch, type Cancel, ORIGIN_ID_BYTES, splitInt64 } from '@quotadb/engine';
import { BatchField } from './batch-fields.js';
import { MAXIMUM_CANCELLED_ORIGINS, MAXIMUM_CANCELS, MAXIMUM_COMPONENTS, MAXIMUM_SHARD } from './bounds.js';
import { FrameError } from './frames.js';
import { type ProtoWriter, VARINT_BYTES } from './proto-writer.js';

/** Writes the fields of a batch, column by column: numbers of one kind together take few bytes. */
export function writeBatch(writer: ProtoWriter, batch: Batch): void {
  checkBounds(batch);
  writer.uint53Field(BatchField.shard, batch.shardIndex);
  writer.bytesField(BatchField.origin, batch.origin);
  writer.uint53Field(BatchField.walk, batch.walk);
  writer.uint53Field(BatchField.start, batch.start);
  writer.uint53Field(BatchField.from, batch.from);
  writer.uint53Field(BatchField.reached, batch.reached);
  writer.uint53Field(BatchField.to, batch.to);
  if (batch.count === 0) return;
  writeKeys(writer, batch);
  writeVersions(writer, batch);
  writePositives(writer, batch);
  writeAbsent(writer, batch);
  writeNegatives(writer, batch);
  writeSparse(writer, batch.decided, batch.count, BatchField.expiryAt, batch.expiresAtMs, BatchField.expiresAtMs);
  writeSparse(writer, batch.decided, batch.count, 0, batch.decided, BatchField.decided);
  writeSparse(writer, batch.floorMs, batch.count, BatchField.floorAt, batch.floorMs, BatchField.floorsMs);
  if (batch.cancelEnd[batch.count - 1] > 0) writeCancels(writer, batch);
}

function checkBounds({ count, shardIndex, origin, cancels }: Batch): void {
  if (!(shardIndex >= 0 && shardIndex <= MAXIMUM_SHARD)) throw new FrameError(`there is no shard ${shardIndex}`);
  if (origin.length !== ORIGIN_ID_BYTES) throw new FrameError(`an origin of ${origin.length} bytes cannot be sent`);
  if (count > MAXIMUM_COMPONENTS) throw new FrameError(`a batch of ${count} components cannot be sent`);
  if (cancels.length > MAXIMUM_CANCELS) throw new FrameError(`a batch with ${cancels.length} cancels cannot be sent`);
}

function writeKeys(writer: ProtoWriter, batch: Batch): void {
  writer.bytesField(BatchField.keys, batch.keyBytes.subarray(0, batch.bytes));
  const { count, keyEnd } = batch;
  const column = writer.begin(BatchField.keyLengths);
  writer.reserve(count * VARINT_BYTES);
  let before = 0;
  for (let index = 0; index < count; index++) {
    writer.uint53(keyEnd[index] - before);
    before = keyEnd[index];
  }
  writer.end(column);
}

function writeVersions(writer: ProtoWriter, { count, version, born }: Batch): void {
  const deltas = writer.begin(BatchField.versionDeltas);
  writer.reserve(count * VARINT_BYTES);
  let before = 0;
  for (let index = 0; index < count; index++) {
    writer.uint53(version[index] - before);
    before = version[index];
  }
  writer.end(deltas);
  const ages = writer.begin(BatchField.ages);
  writer.reserve(count * VARINT_BYTES);
  for (let index = 0; index < count; index++) writer.uint53(version[index] - born[index]);
  writer.end(ages);
}

function writePositives(writer: ProtoWriter, { count, positiveHigh, positiveLow }: Batch): void {
  const column = writer.begin(BatchField.positives);
  writer.reserve(count * VARINT_BYTES);
  for (let index = 0; index < count; index++) writer.uint64(positiveHigh[index], positiveLow[index]);
  writer.end(column);
}

function writeAbsent(writer: ProtoWriter, { count, present }: Batch): void {
  let absent = 0;
  for (let index = 0; index < count; index++) absent += present[index] === 1 ? 0 : 1;
  if (absent === 0) return;
  const column = writer.begin(BatchField.absentAt);
  writer.reserve(absent * VARINT_BYTES);
  let before = 0;
  for (let index = 0; index < count; index++) {
    if (present[index] === 1) continue;
    writer.uint53(index - before);
    before = index;
  }
  writer.end(column);
}

function writeNegatives(writer: ProtoWriter, { count, negativeHigh, negativeLow }: Batch): void {
  let negatives = 0;
  for (let index = 0; index < count; index++) negatives += (negativeHigh[index] | negativeLow[index]) === 0 ? 0 : 1;
  if (negatives === 0) return;
  const places = writer.begin(BatchField.negativeAt);
  writer.reserve(negatives * VARINT_BYTES);
  let before = 0;
  for (let index = 0; index < count; index++) {
    if ((negativeHigh[index] | negativeLow[index]) === 0) continue;
    writer.uint53(index - before);
    before = index;
  }
  writer.end(places);
  const column = writer.begin(BatchField.negatives);
  writer.reserve(negatives * VARINT_BYTES);
  for (let index = 0; index < count; index++) {
    if ((negativeHigh[index] | negativeLow[index]) !== 0) writer.uint64(negativeHigh[index], negativeLow[index]);
  }
  writer.end(column);
}

/** Writes the values of components whose `when` is not zero, and their places into `placesField`, unless that is 0. */
function writeSparse(
  writer: ProtoWriter,
  when: Float64Array,
  count: number,
  placesField: number,
  values: Float64Array,
  valuesField: number,
): void {
  let entries = 0;
  for (let index = 0; index < count; index++) entries += when[index] === 0 ? 0 : 1;
  if (entries === 0) return;
  if (placesField !== 0) {
    const places = writer.begin(placesField);
    writer.reserve(entries * VARINT_BYTES);
    let before = 0;
    for (let index = 0; index < count; index++) {
      if (when[index] === 0) continue;
      writer.uint53(index - before);
      before = index;
    }
    writer.end(places);
  }
  const column = writer.begin(valuesField);
  writer.reserve(entries * VARINT_BYTES);
  for (let index = 0; index < count; index++) if (when[index] !== 0) writer.uint53(values[index]);
  writer.end(column);
}

/** Rare, but many at once: a reset of all keys cancels each key once for each origin. */
function writeCancels(writer: ProtoWriter, batch: Batch): void {
  const cancels = batch.cancels.slice(0, batch.cancelEnd[batch.count - 1]);
  const places = writer.begin(BatchField.cancelAt);
  writer.reserve(cancels.length * VARINT_BYTES);
  let before = 0;
  for (let index = 0; index < batch.count; index++) {
    for (let at = batch.cancelStart(index); at < batch.cancelEnd[index]; at++) {
      writer.uint53(index - before);
      before = index;
    }
  }
  writer.end(places);
  writeCancelledOrigins(writer, cancels);
  writeCancelColumn(writer, BatchField.cancelBorn, cancels, ({ born }) => writer.uint53(born));
  writeCancelColumn(writer, BatchField.cancelPositives, cancels, ({ positive }) =>
    writer.uint64(...splitInt64(positive)),
  );
  writeCancelColumn(writer, BatchField.cancelNegatives, cancels, ({ negative }) =>
    writer.uint64(...splitInt64(negative)),
  );
}

function writeCancelledOrigins(writer: ProtoWriter, cancels: readonly Cancel[]): void {
  const indexes = new Map<string, number>();
  const indexOf = ({ origin }: Cancel): number => {
    const name = String.fromCharCode(...origin);
    let index = indexes.get(name);
    if (index === undefined) {
      index = indexes.size;
      if (index === MAXIMUM_CANCELLED_ORIGINS) throw new FrameError('a batch cancels generations of too many origins');
      indexes.set(name, index);
      writer.bytesField(BatchField.cancelledOrigins, origin);
    }
    return index;
  };
  const which = cancels.map(indexOf);
  const column = writer.begin(BatchField.cancelOrigin);
  writer.reserve(which.length * VARINT_BYTES);
  for (const index of which) writer.uint53(index);
  writer.end(column);
}

function writeCancelColumn(
  writer: ProtoWriter,
  field: number,
  cancels: readonly Cancel[],
  write: (cancel: Cancel) => void,
): void {
  const column = writer.begin(field);
  writer.reserve(cancels.length * VARINT_BYTES);
  for (const cancel of cancels) write(cancel);
  writer.end(column);
}
