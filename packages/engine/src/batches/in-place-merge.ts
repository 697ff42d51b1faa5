import type { Engine } from '../keys/engine.js';
import { ExpiryNumber, Kind, SummaryNumber, SummaryWord } from '../memory/attachments.js';
import { bornOf, Component, isPresent } from '../memory/record.js';
import type { Batch } from './batch.js';

/** A sum of other origins' amounts whose high half is beyond this is added up anew, in full. */
const NARROW_HIGH = 2 ** 29;

/**
 * Most components that arrive from others are generations that have grown and are otherwise unchanged. Where only a sum
 * of the key can change (its summary says so: no reset, no floor, no expiry that has passed) the component is updated
 * where it lies, and its growth is added to the key's summary. False, and nothing done, where it is not that simple.
 * The new version is above all others of its origin in the shard.
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
  if (hasMoreThanExpiry(batch, index) || !hasExpiryOf(engine, held, batch, index)) return false;
  if (!isPresent(memory, held)) return false;
  const before = memory[held + Component.positiveLow] >>> 0;
  const after = batch.positiveLow[index] >>> 0;
  if (after < before || batch.positiveHigh[index] !== memory[held + Component.positiveHigh]) return false;
  const summary = attachments.find(record, Kind.summary);
  if (attachments.numberAt(summary, SummaryNumber.holdsUntilMs) <= engine.nowMs || attachments.extraOf(summary) !== 0)
    return false;
  if (Math.abs(memory[summary + SummaryWord.totalHigh]) >= NARROW_HIGH) return false;
  engine.lists.raiseTo(state, held, batch.version[index]);
  memory[held + Component.positiveLow] = after;
  const low = (memory[summary + SummaryWord.totalLow] >>> 0) + (after - before);
  memory[summary + SummaryWord.totalLow] = low;
  if (low >= 2 ** 32) memory[summary + SummaryWord.totalHigh]++;
  return true;
}

function hasMoreThanExpiry(batch: Batch, index: number): boolean {
  return (
    (batch.negativeLow[index] | batch.negativeHigh[index]) !== 0 ||
    batch.floorMs[index] !== 0 ||
    batch.cancelEnd[index] !== batch.cancelStart(index)
  );
}

/** Whether a held component has the expiry that the batch gives, and no other attachment. */
function hasExpiryOf(engine: Engine, held: number, batch: Batch, index: number): boolean {
  const { attachments } = engine.store;
  const first = attachments.first(held);
  if (first === 0) return batch.decided[index] === 0;
  return (
    attachments.next(first) === 0 &&
    attachments.kindOf(first) === Kind.expiry &&
    attachments.numberAt(first, ExpiryNumber.expiresAtMs) === batch.expiresAtMs[index] &&
    attachments.numberAt(first, ExpiryNumber.decided) === batch.decided[index]
  );
}
