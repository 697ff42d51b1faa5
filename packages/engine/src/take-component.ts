import { Kind } from './attachments.js';
import type { Batch } from './batch.js';
import type { Engine } from './engine.js';
import { joinUint64 } from './int64.js';
import { bornOf, Component, isPresent, keyLengthOf, keyRecordOf, versionOf } from './record.js';

/** Puts a component of the store at the end of a batch. */
export function takeComponent(engine: Engine, batch: Batch, component: number): void {
  const { store, lives } = engine;
  const { memory, attachments } = store;
  const record = keyRecordOf(memory, component);
  const keyLength = keyLengthOf(memory, record);
  batch.reserve(keyLength);
  const index = batch.count;
  const keyStart = batch.keyStart(index);
  const keyAt = (record + Component.key) * 4;
  for (let at = 0; at < keyLength; at++) batch.keyBytes[keyStart + at] = store.bytes[keyAt + at];
  batch.keyEnd[index] = keyStart + keyLength;
  batch.version[index] = versionOf(memory, component);
  batch.born[index] = bornOf(memory, component);
  batch.present[index] = isPresent(memory, component) ? 1 : 0;
  batch.positiveHigh[index] = memory[component + Component.positiveHigh];
  batch.positiveLow[index] = memory[component + Component.positiveLow];
  if (memory[component + Component.attachments] === 0) {
    batch.negativeHigh[index] = 0;
    batch.negativeLow[index] = 0;
    batch.expiresAtMs[index] = 0;
    batch.decided[index] = 0;
    batch.floorMs[index] = 0;
    batch.cancelEnd[index] = batch.cancels.length;
    batch.count++;
    return;
  }
  const negative = attachments.find(component, Kind.negative);
  batch.negativeHigh[index] = negative === 0 ? 0 : memory[negative + 3];
  batch.negativeLow[index] = negative === 0 ? 0 : memory[negative + 2];
  batch.expiresAtMs[index] = lives.expiresAt(component);
  batch.decided[index] = lives.decidedAt(component);
  batch.floorMs[index] = lives.recordedFloor(component);
  for (let at = attachments.find(component, Kind.cancel); at !== 0; at = attachments.nextOfKind(at)) {
    batch.cancels.push({
      origin: engine.origins.idOf(attachments.extraOf(at)),
      born: attachments.numberAt(at, 2),
      positive: joinUint64(memory[at + 5], memory[at + 4]),
      negative: joinUint64(memory[at + 7], memory[at + 6]),
    });
  }
  batch.cancelEnd[index] = batch.cancels.length;
  batch.count++;
}
