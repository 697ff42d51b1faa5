import type { Engine } from '../keys/engine.js';
import { Kind } from '../memory/attachments.js';
import { bornOf, Component, isPresent } from '../memory/record.js';
import type { Batch } from './batch.js';

/** A sum of other origins' amounts whose high half is beyond this is added up anew, with care. */
const NARROW_HIGH = 2 ** 29;

/**
 * Most of what arrives from others is a generation that has grown and says nothing new otherwise. Where nothing about the key
 * could change but a sum (no reset, no floor, no expiry that has passed: the summary knows) the component is brought up to
 * date where it lies, and what it grew by is added to the key's summary. False, and nothing done, where it is not that
 * simple. Its version is above all others of its origin in the shard.
 */
export function mergeInPlace(
  engine: Engine,
  state: number,
  record: number,
  held: number,
  batch: Batch,
  index: number,
): boolean {
  const { memory, attachments } = engine.store;
  if (batch.present[index] === 0 || batch.born[index] !== bornOf(memory, held)) return false;
  if (saysMoreThanExpiry(batch, index) || !hasExpiryOf(engine, held, batch, index)) return false;
  if (!isPresent(memory, held)) return false;
  const before = memory[held + Component.positiveLow] >>> 0;
  const after = batch.positiveLow[index] >>> 0;
  if (after < before || batch.positiveHigh[index] !== memory[held + Component.positiveHigh]) return false;
  const summary = attachments.find(record, Kind.summary);
  if (attachments.numberAt(summary, 6) <= engine.nowMs || attachments.extraOf(summary) !== 0) return false;
  if (Math.abs(memory[summary + 5]) >= NARROW_HIGH) return false;
  engine.lists.raiseTo(state, held, batch.version[index]);
  memory[held + Component.positiveLow] = after;
  const low = (memory[summary + 4] >>> 0) + (after - before);
  memory[summary + 4] = low;
  if (low >= 2 ** 32) memory[summary + 5]++;
  return true;
}

function saysMoreThanExpiry(batch: Batch, index: number): boolean {
  return (
    (batch.negativeLow[index] | batch.negativeHigh[index]) !== 0 ||
    batch.floorMs[index] !== 0 ||
    batch.cancelEnd[index] !== batch.cancelStart(index)
  );
}

/** Whether a held component has what the batch says of its expiry, and nothing besides. */
function hasExpiryOf(engine: Engine, held: number, batch: Batch, index: number): boolean {
  const { memory, attachments } = engine.store;
  const first = memory[held + Component.attachments];
  if (first === 0) return batch.decided[index] === 0;
  return (
    memory[first] === 0 &&
    attachments.kindOf(first) === Kind.expiry &&
    attachments.numberAt(first, 2) === batch.expiresAtMs[index] &&
    attachments.numberAt(first, 4) === batch.decided[index]
  );
}
