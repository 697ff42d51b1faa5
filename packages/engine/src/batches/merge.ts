import type { Engine } from '../keys/engine.js';
import { ByteInput } from '../memory/byte-input.js';
import { joinUint64 } from '../memory/int64.js';
import { OriginShardNumber, OWN_ORIGIN } from '../memory/layout.js';
import { bornOf, versionOf } from '../memory/record.js';
import type { Batch } from './batch.js';
import { aheadMs, BatchGate, Verdict } from './batch-gate.js';
import { endForeign, fitsInPlaceOf, makeForeign } from './foreign-component.js';
import { mergeInPlace } from './in-place-merge.js';

/** The outcome of a batch. */
export const Applied = {
  /** Merged; the watermark moved if this was the end of a whole walk. */
  Ok: 0,
  /** It starts behind this node's watermark: changes in between are missing and have to be requested. */
  Gap: 1,
  /** No memory for all of it. A part is merged, the watermark did not move: the batch will be sent again. */
  OutOfMemory: 2,
  /** It is about this node's own components, which no other node writes. */
  Own: 3,
  /** It breaks a rule that every origin keeps: see `brokenRule`. The components before the offending one are merged. */
  Broken: 4,
  /** It holds a number that is dated too far ahead: see `tooFarAhead`. Nothing is merged. */
  Ahead: 5,
  /** There is no room for its origin (origins.ts): see `engine.origins.refusal`. Nothing is merged. */
  OriginRefused: 6,
} as const;
export type Applied = (typeof Applied)[keyof typeof Applied];

/** Walks that have begun and not ended. Beyond this bound the oldest is given up: its end then moves no watermark. */
const MAX_OPEN_WALKS = 4096;

/**
 * Merging batches: of two states of a component the one with the higher version stays. A component that is not held
 * and whose version lies below this node's watermark was superseded and stays gone: no tombstones are needed.
 */
export class Merge {
  /** Also for watermarks that come without a batch. */
  readonly gate: BatchGate;
  private readonly engine: Engine;
  private readonly walks = new Map<string, number>();
  /** By origin and shard the newest version that this put in the list; and that of the list at hand. */
  private readonly newestOf: Float64Array[] = [];
  /** By index: the origin that `newestOf` is about. */
  private readonly orderAt: number[] = [];
  private newest = 0;
  /** The rule that the last Broken batch broke. */
  brokenRule = '';
  /** Of the last batch that was Ahead, the number and how far. */
  tooFarAhead = '';

  constructor(engine: Engine) {
    this.engine = engine;
    this.gate = new BatchGate(engine);
  }

  /** The gate as of now: the bound on the skew of clocks is how long expired generations are kept for late changes. */
  openGate(): BatchGate {
    this.gate.admitUntil(this.engine.nowMs + aheadMs(this.engine.generations.graceMs));
    return this.gate;
  }

  apply(batch: Batch): Applied {
    const { store, origins } = this.engine;
    if (origins.find(batch.origin) === OWN_ORIGIN) return Applied.Own;
    const verdict = this.openGate().ofBatch(batch);
    if (verdict === Verdict.Broken) return this.broken(this.gate.describe(batch));
    if (verdict === Verdict.Ahead) {
      this.tooFarAhead = this.gate.describe(batch);
      return Applied.Ahead;
    }
    const origin = origins.intern(batch.origin);
    if (origin === -1) return Applied.OriginRefused;
    const shard = store.shardAt(batch.shardIndex);
    const state = store.originShardAt(origin, shard);
    const seenAt = (state >>> 1) + OriginShardNumber.seen;
    if (batch.start > store.numbers[seenAt]) return Applied.Gap;
    const input = batch.keyInput;
    // A reset in it may bring in another origin, which must not take the slot of this one.
    origins.hold(origin);
    origins.refusal = '';
    try {
      const applied = this.engine.withShard(shard, () => this.mergeAll(batch, shard, state, origin, input));
      return applied === Applied.OutOfMemory && origins.refusal !== '' ? Applied.OriginRefused : applied;
    } finally {
      origins.release(origin);
    }
  }

  private mergeAll(batch: Batch, shard: number, state: number, origin: number, input: ByteInput): Applied {
    const { lists, store } = this.engine;
    const seenAt = (state >>> 1) + OriginShardNumber.seen;
    const newestOf = this.newestFor(origin);
    this.newest = Math.max(newestOf[batch.shardIndex], lists.orderedTo(state));
    for (let index = 0; index < batch.count; index++) {
      const applied = this.mergeComponent(shard, state, origin, batch, index, input);
      if (this.newest > newestOf[batch.shardIndex]) newestOf[batch.shardIndex] = this.newest;
      if (applied !== Applied.Ok) return applied;
    }
    const before = store.numbers[seenAt];
    this.moveWatermark(batch, origin, seenAt);
    this.engine.garbageCollection.passWatermark(shard, state, before, store.numbers[seenAt]);
    return Applied.Ok;
  }

  private newestFor(origin: number): Float64Array {
    const order = this.engine.origins.orderOf(origin);
    if (this.orderAt[origin] !== order) {
      this.orderAt[origin] = order;
      this.newestOf[origin] = new Float64Array(this.engine.shardCount);
    }
    return this.newestOf[origin];
  }

  private broken(rule: string): Applied {
    this.brokenRule = rule;
    return Applied.Broken;
  }

  /**
   * The rules that an origin keeps about its own components, however much was lost on the way. A peer that breaks one
   * has a bug, or two nodes use one identity: the store must not merge the component, and must not fail over it either.
   */
  private ruleBrokenBy(state: number, held: number, batch: Batch, index: number): string {
    const version = batch.version[index];
    if (this.engine.lists.withVersion(state, version) !== 0) return 'a version belongs to one component';
    return held === 0 || grows(this.engine, held, batch, index) ? '' : 'P and N only grow inside one generation';
  }

  /**
   * Parts are chained: only a walk of which every part came, in order, ends in a true cut. Two senders may number their
   * walks alike; parts that fit together make a true cut from any sender, and a walk in one part needs no other.
   */
  private moveWatermark(batch: Batch, origin: number, seenAt: number): void {
    const numbers = this.engine.store.numbers;
    const isWhole = batch.from === batch.start && batch.to !== 0;
    if (isWhole && this.walks.size === 0) {
      if (batch.to > numbers[seenAt]) numbers[seenAt] = batch.to;
      return;
    }
    const name = `${this.engine.origins.orderOf(origin)}:${batch.shardIndex}:${batch.walk}:${batch.start}`;
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
    if (store.shardOf(input, start, length) !== shard) return this.broken('a key belongs to one shard');
    let record = store.table.find(shard, input, start, length);
    let held = record === 0 ? 0 : generations.findForeign(record, origin);
    if (held === 0 && version <= store.numbers[(state >>> 1) + OriginShardNumber.seen]) return Applied.Ok;
    if (held !== 0 && versionOf(memory, held) >= version) return Applied.Ok;
    // A version above all others in the list is no other component's, and belongs to the tail.
    if (held !== 0 && version > this.newest && mergeInPlace(engine, state, record, held, batch, index)) {
      this.newest = version;
      return Applied.Ok;
    }
    const rule = this.ruleBrokenBy(state, held, batch, index);
    if (rule !== '') return this.broken(rule);
    // A component that is over is merged too, until the watermark has passed it: an older state of it may still be
    // under way. Without memory for it the merge goes on.
    const isOver = isEmptyIn(batch, index) || isOverIn(batch, index, engine.nowMs - generations.graceMs);
    if (record === 0) record = engine.records.make(shard, input, start, length);
    if (record === 0) return isOver ? Applied.Ok : Applied.OutOfMemory;
    let component = makeForeign(engine, shard, record, origin, batch, index);
    if (component === 0 && held !== 0 && fitsInPlaceOf(engine, held, batch, index)) {
      engine.records.dropForeign(shard, record, held);
      held = 0;
      component = makeForeign(engine, shard, record, origin, batch, index);
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
   * A peer has seen past this version of another origin's component and does not hold it: it is over, and this node
   * missed that. Returns whether it was still here. Where some peer has not acknowledged the component, it stays as an
   * empty one: that peer may hold an older state, and learns from this node alone that it has ended.
   *
   * A reset of it is dropped only where its owner says so: other peers may have dropped it by its expiry while its
   * owner, out of reach, set another. Otherwise the reset is sent again: the owner's answer may be the change that this
   * node missed.
   */
  dropGone(origin: number, key: Uint8Array, version: number, isSaidByOwner: boolean): boolean {
    const { engine } = this;
    const { store, generations } = engine;
    const input = ByteInput.copyOf(key);
    const shard = store.shardOf(input, 0, key.length);
    return engine.withShard(shard, () => {
      const record = store.table.find(shard, input, 0, key.length);
      const held = record === 0 || origin === OWN_ORIGIN ? 0 : generations.findForeign(record, origin);
      if (held === 0 || versionOf(store.memory, held) > version || store.attachments.isEmpty(held)) return false;
      const state = store.originShardAt(origin, shard);
      if (versionOf(store.memory, held) <= engine.garbageCollection.acknowledgedOther(state))
        engine.records.collectForeign(shard, record, held);
      else endForeign(engine, shard, held);
      if (isSaidByOwner) engine.ownGeneration.collectCancel(shard, record, origin, 0);
      else if (generations.findCancel(record, origin) !== 0) this.change(shard, record, () => {});
      this.settleKey(shard, record);
      return true;
    });
  }

  /** Stamps a reset of an origin's generation anew, so that it is sent again, where no component of it is held. */
  repeatReset(origin: number, key: Uint8Array): void {
    const { engine } = this;
    const { generations, store } = engine;
    const input = ByteInput.copyOf(key);
    const shard = store.shardOf(input, 0, key.length);
    engine.withShard(shard, () => {
      const record = store.table.find(shard, input, 0, key.length);
      if (record === 0 || generations.findForeign(record, origin) !== 0) return;
      if (generations.findCancel(record, origin) !== 0) this.change(shard, record, () => {});
    });
  }

  /** After any change to a key's foreign components: brings this node's own one in line, and all that is derived. */
  settleKey(shard: number, record: number): void {
    this.settleOwn(shard, record);
    this.engine.ownGeneration.collectFloor(shard, record);
    this.engine.records.refreshKey(shard, record);
  }

  /**
   * Answers a reset of an own generation that was dropped here already: a stamped change says that it is over, or the
   * reset would be kept for ever. Only once, when the reset arrives: two nodes that answered at every change would
   * answer each other for ever.
   */
  private answerCancel(shard: number, record: number, component: number): void {
    const { generations, ownGeneration } = this.engine;
    if (versionOf(this.engine.store.memory, record) === 0 && generations.findCancel(component, OWN_ORIGIN) !== 0)
      this.change(shard, record, () => ownGeneration.end(shard, record));
  }

  /**
   * Brings the own generation in line with a foreign component that arrived: wholly cancelled, it ends; a newer expiry
   * is taken over; a floor, or an expiry that passed before it arrived, is outlived so that no increment is lost,
   * unless the generation had that expiry and only this node's clock is behind the one that saw it pass.
   */
  private settleOwn(shard: number, record: number): void {
    const { generations, ownGeneration, unpublished } = this.engine;
    // Once one region has published a key, all do.
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
    const inForce = generations.expiryInForce(record);
    const isOverruled = inForce !== 0 && inForce !== record;
    if (!isUnderFloor && !isOverruled) return;
    this.change(shard, record, () => {
      if (isUnderFloor) ownGeneration.outlive(shard, record, floor);
      if (isOverruled)
        ownGeneration.decide(shard, record, generations.expiresAt(inForce), generations.decidedAt(inForce));
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

/** Its own expiry passed before the horizon: every replica has dropped it, or will at once. */
function isOverIn(batch: Batch, index: number, horizonMs: number): boolean {
  const hasResetOrFloor = batch.cancelEnd[index] !== batch.cancelStart(index) || batch.floorMs[index] !== 0;
  return (
    !hasResetOrFloor &&
    batch.decided[index] !== 0 &&
    batch.expiresAtMs[index] !== 0 &&
    batch.expiresAtMs[index] <= horizonMs
  );
}

/** Inside one generation P and N only grow; anything else means that an origin's identity was used twice. */
function grows(engine: Engine, held: number, batch: Batch, index: number): boolean {
  const { memory } = engine.store;
  if (bornOf(memory, held) !== batch.born[index]) return true;
  const positive = joinUint64(batch.positiveHigh[index], batch.positiveLow[index]);
  const negative = joinUint64(batch.negativeHigh[index], batch.negativeLow[index]);
  return positive >= engine.generations.positiveOf(held) && negative >= engine.generations.negativeOf(held);
}
