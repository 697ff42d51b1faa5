import type { Engine } from '../keys/engine.js';
import { Kind } from '../memory/attachments.js';
import { ByteInput } from '../memory/byte-input.js';
import { highHalf, joinUint64, lowHalf } from '../memory/int64.js';
import { OriginShard, OWN_ORIGIN, Shard } from '../memory/layout.js';
import {
  bornOf,
  Component,
  clearComponent,
  Flag,
  FOREIGN_WORDS,
  setBorn,
  setVersion,
  versionOf,
} from '../memory/record.js';
import type { Batch } from './batch.js';
import { mergeInPlace } from './in-place-merge.js';

/** What became of a batch. */
export const Applied = {
  /** Merged; the watermark moved if this was the end of a whole walk. */
  Ok: 0,
  /** It starts behind what this node has seen: something in between is missing and has to be asked for. */
  Gap: 1,
  /** No memory for all of it. What fitted is merged, the watermark did not move: it will be sent again. */
  OutOfMemory: 2,
  /** It claims to speak for this node's own components. The own store knows better. */
  Own: 3,
  /** No honest origin says this: see `brokenRule`. The components before the one that says it are merged. */
  Broken: 4,
} as const;
export type Applied = (typeof Applied)[keyof typeof Applied];

/** Walks that have begun and not ended. One that is forgotten only means that its end moves no watermark. */
const MAX_OPEN_WALKS = 4096;

/**
 * Merging batches: of two states of a component the one with the higher version stays. A component that is not held
 * and whose version this node has seen past was superseded and stays gone, so nothing dead rises without a tombstone.
 */
export class Merge {
  private readonly engine: Engine;
  private readonly walks = new Map<string, number>();
  /** By origin and shard the newest version in the list, as far as this has put it there; and that of the list at hand. */
  private readonly newestOf: Float64Array[] = [];
  private newest = 0;
  /** In words, what was wrong with the batch that was Broken last. */
  brokenRule = '';

  constructor(engine: Engine) {
    this.engine = engine;
  }

  apply(batch: Batch): Applied {
    const { lists, store, origins } = this.engine;
    const origin = origins.intern(batch.origin);
    if (origin === OWN_ORIGIN) return Applied.Own;
    if (origin === -1) return Applied.OutOfMemory;
    if (batch.shardIndex >= this.engine.shardCount) return this.broken('there is no such shard');
    const shard = store.shardAt(batch.shardIndex);
    const state = store.originShardAt(origin, shard);
    const seenAt = (state >>> 1) + OriginShard.seenNumber;
    if (batch.start > store.numbers[seenAt]) return Applied.Gap;
    const input = batch.keyInput;
    return this.engine.withShard(shard, () => {
      this.newestOf[origin] ??= new Float64Array(this.engine.shardCount);
      const newestOf = this.newestOf[origin];
      this.newest = Math.max(newestOf[batch.shardIndex], lists.orderedTo(state));
      for (let index = 0; index < batch.count; index++) {
        const applied = this.mergeComponent(shard, state, origin, batch, index, input);
        if (this.newest > newestOf[batch.shardIndex]) newestOf[batch.shardIndex] = this.newest;
        if (applied !== Applied.Ok) return applied;
      }
      const before = store.numbers[seenAt];
      this.moveWatermark(batch, origin, seenAt);
      if (store.numbers[seenAt] > before) this.passWatermark(shard, state, before, store.numbers[seenAt]);
      return Applied.Ok;
    });
  }

  private broken(rule: string): Applied {
    this.brokenRule = rule;
    return Applied.Broken;
  }

  /**
   * What an origin can never say about its own, whatever was lost on the way. A peer that does is mistaken, or an identity
   * was used twice: the store must not take it in, and must not fall over it either.
   */
  private ruleBrokenBy(state: number, held: number, batch: Batch, index: number): string {
    const version = batch.version[index];
    if (batch.born[index] > version) return 'a generation is born at one of its versions';
    if (this.engine.lists.withVersion(state, version) !== 0) return 'a version belongs to one component';
    return held === 0 || grows(this.engine, held, batch, index) ? '' : 'P and N only grow inside one generation';
  }

  /**
   * Parts are chained: only a walk of which every part came, in order, ends in a true cut. Two senders may number their walks
   * alike; parts that fit together make a true cut whoever sent them, and a walk in one part needs no other.
   */
  private moveWatermark(batch: Batch, origin: number, seenAt: number): void {
    const numbers = this.engine.store.numbers;
    const isWhole = batch.from === batch.start && batch.to !== 0;
    if (isWhole && this.walks.size === 0) {
      if (batch.to > numbers[seenAt]) numbers[seenAt] = batch.to;
      return;
    }
    const name = `${origin}:${batch.shardIndex}:${batch.walk}:${batch.start}`;
    const cursor = isWhole ? batch.start : (this.walks.get(name) ?? batch.start);
    if (batch.from !== cursor) return;
    if (batch.to === 0) {
      this.walks.delete(name);
      this.walks.set(name, batch.reached);
      if (this.walks.size > MAX_OPEN_WALKS) this.walks.delete(this.walks.keys().next().value as string);
      return;
    }
    this.walks.delete(name);
    if (batch.to > numbers[seenAt]) numbers[seenAt] = batch.to;
  }

  /**
   * What came since the last cut lies under the watermark now, and older states of it are superseded by that alone: an
   * empty component has done its work, and what has expired may go.
   */
  private passWatermark(shard: number, state: number, before: number, seen: number): void {
    const { engine } = this;
    const { store } = engine;
    const { memory, attachments } = store;
    const hasEnded = store.numbers[(shard >>> 1) + Shard.othersEndedNumber] > before;
    if (!hasEnded && attachments.countOf(shard, Kind.expiry) === 0) return;
    const acknowledged = engine.garbageCollection.acknowledgedOther(state);
    for (let at = engine.lists.firstAfter(state, before); at !== 0 && versionOf(memory, at) <= seen; ) {
      const next = memory[at + Component.next];
      const record = memory[at + Component.foreignKey];
      const isEmpty = engine.generations.isSilent(at) && versionOf(memory, at) <= acknowledged;
      if (isEmpty) engine.records.collectForeign(shard, record, at);
      if (isEmpty || attachments.find(at, Kind.expiry) !== 0) engine.records.refreshKey(shard, record);
      at = next;
    }
  }

  private mergeComponent(
    shard: number,
    state: number,
    origin: number,
    batch: Batch,
    index: number,
    input: ByteInput,
  ): Applied {
    const { engine } = this;
    const { store, generations } = engine;
    const { memory } = store;
    const version = batch.version[index];
    const start = batch.keyStart(index);
    const length = batch.keyEnd[index] - start;
    store.hash.ofInput(input, start, length);
    if (store.shardOfHash() !== shard) return this.broken('a key belongs to one shard');
    let record = store.table.find(shard, input, start, length);
    let held = record === 0 ? 0 : generations.findForeign(record, origin);
    if (held === 0 && version <= store.numbers[(state >>> 1) + OriginShard.seenNumber]) return Applied.Ok;
    if (held !== 0 && versionOf(memory, held) >= version) return Applied.Ok;
    // Above all others in the list, so that it is nobody else's, and belongs to the tail.
    if (held !== 0 && version > this.newest && mergeInPlace(engine, state, record, held, batch, index)) {
      this.newest = version;
      return Applied.Ok;
    }
    const rule = this.ruleBrokenBy(state, held, batch, index);
    if (rule !== '') return this.broken(rule);
    // What is over is let in too, until the watermark has passed it: an older state of it may still be under way. But it is
    // not worth stopping for.
    const isOver = isEmptyIn(batch, index) || isOverIn(batch, index, engine.nowMs - generations.graceMs);
    if (record === 0) record = engine.records.make(shard, input, start, length);
    if (record === 0) return isOver ? Applied.Ok : Applied.OutOfMemory;
    let component = this.makeForeign(shard, record, origin, batch, index);
    if (component === 0 && held !== 0 && this.fitsInPlaceOf(held, batch, index)) {
      engine.records.dropForeign(shard, record, held);
      held = 0;
      component = this.makeForeign(shard, record, origin, batch, index);
    }
    const isTaken = component !== 0 || isOver;
    if (isTaken && held !== 0 && isOver) engine.records.collectForeign(shard, record, held);
    else if (isTaken && held !== 0) engine.records.dropForeign(shard, record, held);
    if (component !== 0) engine.lists.insert(state, component);
    if (component !== 0 && version > this.newest) this.newest = version;
    if (isTaken && batch.born[index] <= engine.garbageCollection.acknowledgedOther(state))
      engine.ownGeneration.collectCancel(shard, record, origin, batch.born[index]);
    if (component !== 0) this.answerCancel(shard, record, component);
    this.settleKey(shard, record);
    return isTaken ? Applied.Ok : Applied.OutOfMemory;
  }

  /**
   * Somebody has seen past this version of another origin's component and does not hold it: it is over, and this node
   * had not heard. Returns whether it was still here. A reset of it is taken back only where its owner has said so: to
   * others it may have expired while its owner, out of reach, has decided otherwise. The owner is told of the reset again: what
   * it answered the first time may be what this node has missed.
   */
  dropGone(origin: number, key: Uint8Array, version: number, isSaidByOwner: boolean): boolean {
    const { engine } = this;
    const { store, generations } = engine;
    const input = ByteInput.copyOf(key);
    store.hash.ofInput(input, 0, key.length);
    const shard = store.shardOfHash();
    return engine.withShard(shard, () => {
      const record = store.table.find(shard, input, 0, key.length);
      const held = record === 0 || origin === OWN_ORIGIN ? 0 : generations.findForeign(record, origin);
      if (held === 0 || versionOf(store.memory, held) > version) return false;
      engine.records.collectForeign(shard, record, held);
      if (isSaidByOwner) engine.ownGeneration.collectCancel(shard, record, origin, 0);
      else if (engine.ownGeneration.cancels(record, origin)) this.change(shard, record, () => {});
      this.settleKey(shard, record);
      return true;
    });
  }

  /** Whether the next state of a component needs no more memory than the one that is held gives back. */
  private fitsInPlaceOf(held: number, batch: Batch, index: number): boolean {
    const { attachments } = this.engine.store;
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

  /** A foreign component with all it says, linked to its key but not yet in its list; 0 when memory ran out. */
  makeForeign(shard: number, record: number, origin: number, batch: Batch, index: number): number {
    const { memory, attachments, slab } = this.engine.store;
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
    if (!this.attach(shard, component, batch, index)) {
      attachments.dropEvery(shard, component);
      slab.give(shard, component);
      return 0;
    }
    memory[component + Component.foreignSibling] = memory[summary + 2];
    memory[summary + 2] = component;
    if (batch.present[index] === 0) this.noteEnd(shard, batch.version[index]);
    return component;
  }

  /** Whoever looks for what can be forgotten has to look at this version (GarbageCollection.acknowledgeOther, passWatermark). */
  private noteEnd(shard: number, version: number): void {
    const { store } = this.engine;
    const endedAt = (shard >>> 1) + Shard.othersEndedNumber;
    store.numbers[endedAt] = Math.max(store.numbers[endedAt], version);
  }

  /** Gives a component what the batch says beyond its amount; false when memory ran out. */
  attach(shard: number, component: number, batch: Batch, index: number): boolean {
    const { memory, attachments } = this.engine.store;
    if ((batch.negativeLow[index] | batch.negativeHigh[index]) !== 0) {
      const at = attachments.add(shard, component, Kind.negative);
      if (at === 0) return false;
      memory[at + 2] = batch.negativeLow[index];
      memory[at + 3] = batch.negativeHigh[index];
    }
    if (batch.decided[index] !== 0) {
      const at = attachments.add(shard, component, Kind.expiry);
      if (at === 0) return false;
      attachments.setNumberAt(at, 2, batch.expiresAtMs[index]);
      attachments.setNumberAt(at, 4, batch.decided[index]);
    }
    if (batch.floorMs[index] !== 0) {
      const at = attachments.add(shard, component, Kind.floor);
      if (at === 0) return false;
      attachments.setNumberAt(at, 2, batch.floorMs[index]);
    }
    for (let cancel = batch.cancelStart(index); cancel < batch.cancelEnd[index]; cancel++) {
      const { origin, born, positive, negative } = batch.cancels[cancel];
      const target = this.engine.origins.intern(origin);
      const at = target === -1 ? 0 : attachments.add(shard, component, Kind.cancel);
      if (at === 0) return false;
      attachments.setExtra(at, target);
      attachments.setNumberAt(at, 2, born);
      memory[at + 4] = lowHalf(positive);
      memory[at + 5] = highHalf(positive);
      memory[at + 6] = lowHalf(negative);
      memory[at + 7] = highHalf(negative);
    }
    return true;
  }

  /** After any change to what is held of a key: brings this node's own part of it in line, and all that is derived. */
  settleKey(shard: number, record: number): void {
    this.settleOwn(shard, record);
    this.engine.ownGeneration.collectFloor(shard, record);
    this.engine.records.refreshKey(shard, record);
  }

  /**
   * A reset of a generation that is forgotten here already: say that it is over, or the reset would be kept for ever. Once, when
   * it comes: one whose origin is no more stays, and two that answered it at every change would answer each other for ever.
   */
  private answerCancel(shard: number, record: number, component: number): void {
    const { generations, ownGeneration } = this.engine;
    if (versionOf(this.engine.store.memory, record) === 0 && generations.cancelsOwn(component))
      this.change(shard, record, () => ownGeneration.end(shard, record));
  }

  /**
   * Brings the own generation in line with what was just learned: wholly cancelled, it ends; a newer decision about the
   * expiry is taken over; one that passed before it was known, or a floor, is outlived instead of losing the generation, unless
   * the generation knew and only this node's clock is slower than the one that saw it end.
   */
  private settleOwn(shard: number, record: number): void {
    const { generations, ownGeneration, unpublished } = this.engine;
    // Once one region has spoken of a key, all do.
    if (generations.firstForeign(record) !== 0) unpublished.publish(shard, record);
    if (!generations.isOwnAlive(record)) return;
    const floor = generations.floorMs(record);
    const expiresAt = generations.expiresAt(record);
    const isUnderFloor = generations.bornMs(record) < floor;
    const knew = isUnderFloor && expiresAt !== 0 && expiresAt <= floor;
    if (knew || generations.isWhollyCancelled(record, record)) {
      this.change(shard, record, () => ownGeneration.end(shard, record));
      return;
    }
    const ruler = generations.ruler(record);
    const isOverruled = ruler !== 0 && ruler !== record;
    if (!isUnderFloor && !isOverruled) return;
    this.change(shard, record, () => {
      if (isUnderFloor) ownGeneration.outlive(shard, record, floor);
      if (isOverruled) ownGeneration.decide(shard, record, generations.expiresAt(ruler), generations.decidedAt(ruler));
    });
  }

  private change(shard: number, record: number, work: () => void): void {
    const { ownGeneration } = this.engine;
    ownGeneration.before(shard, record);
    work();
    ownGeneration.stamp(shard, record);
  }
}

export function isEmptyIn(batch: Batch, index: number): boolean {
  return (
    batch.present[index] === 0 && batch.cancelEnd[index] === batch.cancelStart(index) && batch.floorMs[index] === 0
  );
}

/** Its own expiry is so long past that everybody has dropped it, or will at once. */
function isOverIn(batch: Batch, index: number, horizonMs: number): boolean {
  const says = batch.cancelEnd[index] !== batch.cancelStart(index) || batch.floorMs[index] !== 0;
  return !says && batch.decided[index] !== 0 && batch.expiresAtMs[index] !== 0 && batch.expiresAtMs[index] <= horizonMs;
}

/** Inside one generation P and N only grow; anything else means that an origin's identity was used twice. */
function grows(engine: Engine, held: number, batch: Batch, index: number): boolean {
  const { memory } = engine.store;
  if (bornOf(memory, held) !== batch.born[index]) return true;
  const positive = joinUint64(batch.positiveHigh[index], batch.positiveLow[index]);
  const negative = joinUint64(batch.negativeHigh[index], batch.negativeLow[index]);
  return positive >= engine.generations.positiveOf(held) && negative >= engine.generations.negativeOf(held);
}
