import type { Engine } from '../keys/engine.js';
import {
  CancelNumber,
  CancelWord,
  ExpiryNumber,
  FloorNumber,
  Kind,
  NegativeWord,
  SummaryWord,
} from '../memory/attachments.js';
import { setInt64At } from '../memory/int64.js';
import { ShardNumber } from '../memory/layout.js';
import {
  Component,
  clearComponent,
  Flag,
  FOREIGN_WORDS,
  originIndexOf,
  setBorn,
  setVersion,
  versionOf,
} from '../memory/record.js';
import type { Batch } from './batch.js';

/** A component of another origin from a batch, linked to its key but not yet in its list; 0 when memory ran out. */
export function makeForeign(
  engine: Engine,
  shard: number,
  record: number,
  origin: number,
  batch: Batch,
  index: number,
): number {
  const { memory, attachments, slab } = engine.store;
  const summary = attachments.ensure(shard, record, Kind.summary);
  if (summary === 0) return 0;
  const component = slab.take(shard, FOREIGN_WORDS, false);
  if (component === 0) return 0;
  clearComponent(memory, component, origin, Flag.foreign | (batch.present[index] === 1 ? Flag.present : 0));
  setVersion(memory, component, batch.version[index]);
  setBorn(memory, component, batch.born[index]);
  memory[component + Component.positiveLow] = batch.positiveLow[index];
  memory[component + Component.positiveHigh] = batch.positiveHigh[index];
  memory[component + Component.foreignKey] = record;
  if (!attachFrom(engine, shard, component, batch, index)) {
    attachments.dropEvery(shard, component);
    slab.give(shard, component);
    return 0;
  }
  memory[component + Component.foreignSibling] = memory[summary + SummaryWord.firstForeign];
  memory[summary + SummaryWord.firstForeign] = component;
  if (batch.present[index] === 0) noteEnded(engine, shard, batch.version[index]);
  return component;
}

/** Makes a component that is over an empty one, as if its owner had ended it at the version that it has. */
export function endForeign(engine: Engine, shard: number, component: number): void {
  const { memory, attachments } = engine.store;
  const version = versionOf(memory, component);
  const state = engine.store.originShardAt(originIndexOf(memory, component), shard);
  engine.lists.remove(state, component);
  attachments.dropEvery(shard, component);
  memory[component + Component.bornHigh] &= ~Flag.present;
  memory[component + Component.positiveLow] = 0;
  memory[component + Component.positiveHigh] = 0;
  setBorn(memory, component, version);
  engine.lists.insert(state, component);
  noteEnded(engine, shard, version);
}

/** Garbage collection has to look at the versions up to this one. */
function noteEnded({ store }: Engine, shard: number, version: number): void {
  const at = (shard >>> 1) + ShardNumber.othersEnded;
  store.numbers[at] = Math.max(store.numbers[at], version);
}

/** Gives a component its attachments from a batch; false when memory ran out. */
export function attachFrom(engine: Engine, shard: number, component: number, batch: Batch, index: number): boolean {
  const { memory, attachments } = engine.store;
  if ((batch.negativeLow[index] | batch.negativeHigh[index]) !== 0) {
    const at = attachments.add(shard, component, Kind.negative);
    if (at === 0) return false;
    memory[at + NegativeWord.low] = batch.negativeLow[index];
    memory[at + NegativeWord.high] = batch.negativeHigh[index];
  }
  if (batch.decided[index] !== 0) {
    const at = attachments.add(shard, component, Kind.expiry);
    if (at === 0) return false;
    attachments.setNumberAt(at, ExpiryNumber.expiresAtMs, batch.expiresAtMs[index]);
    attachments.setNumberAt(at, ExpiryNumber.decided, batch.decided[index]);
  }
  if (batch.floorMs[index] !== 0) {
    const at = attachments.add(shard, component, Kind.floor);
    if (at === 0) return false;
    attachments.setNumberAt(at, FloorNumber.floorMs, batch.floorMs[index]);
  }
  for (let cancel = batch.cancelStart(index); cancel < batch.cancelEnd[index]; cancel++) {
    const { origin, born, positive, negative } = batch.cancels[cancel];
    const target = engine.origins.internNamedHeld(origin);
    if (target === -1) return false;
    const at = attachments.addCancel(shard, component, target);
    engine.origins.release(target);
    if (at === 0) return false;
    attachments.setNumberAt(at, CancelNumber.born, born);
    setInt64At(memory, at + CancelWord.positiveLow, positive);
    setInt64At(memory, at + CancelWord.negativeLow, negative);
  }
  return true;
}

/** Whether the next state of a component needs no more memory than the one that is held gives back. */
export function fitsInPlaceOf(engine: Engine, held: number, batch: Batch, index: number): boolean {
  const { attachments } = engine.store;
  const has = (kind: Kind) => attachments.find(held, kind) !== 0;
  let cancels = batch.cancelEnd[index] - batch.cancelStart(index);
  for (let at = attachments.find(held, Kind.cancel); at !== 0; at = attachments.nextOfKind(at)) cancels--;
  return (
    ((batch.negativeLow[index] | batch.negativeHigh[index]) === 0 || has(Kind.negative)) &&
    (batch.decided[index] === 0 || has(Kind.expiry)) &&
    (batch.floorMs[index] === 0 || has(Kind.floor)) &&
    cancels <= 0
  );
}
