import { Kind, NegativeWord } from '../memory/attachments.js';
import { addInt64At, wouldOverflowAt } from '../memory/int64.js';
import { HeaderWord, OWN_ORIGIN, ShardNumber } from '../memory/layout.js';
import { linkAt } from '../memory/link.js';
import { Component } from '../memory/record.js';
import type { Store } from '../memory/store.js';
import { GrowOnly } from './grow-only.js';
import { OpenKey } from './open-key.js';
import { Status } from './status.js';

export const MAX_KEY_BYTES = 65536;

/** Changes of the open key. On any status but Ok nothing has changed. */
export class KeyChanges extends OpenKey {
  readonly growOnly: GrowOnly;

  constructor(store: Store) {
    super(store);
    this.growOnly = new GrowOnly(store);
  }

  /** Adds a signed amount. */
  add(amountHigh: number, amountLow: number): Status {
    const memory = this.memory;
    const low = (this.valueLow + amountLow) | 0;
    const high = (this.valueHigh + amountHigh + (low >>> 0 < amountLow >>> 0 ? 1 : 0)) | 0;
    if (((this.valueHigh ^ high) & (amountHigh ^ high)) < 0) return Status.Overflow;
    if (!this.goesOn || amountHigh < 0) return this.addWithCare(amountHigh, amountLow);
    // This node's own generation, going on: P and the value grow by the same amount; the sum of the others stays.
    const record = this.record;
    const positiveLow = (memory[record + Component.positiveLow] + amountLow) | 0;
    const carry = positiveLow >>> 0 < amountLow >>> 0 ? 1 : 0;
    const before = memory[record + Component.positiveHigh];
    const positiveHigh = (before + amountHigh + carry) | 0;
    if (positiveHigh >>> 0 < before >>> 0) return this.addWithCare(amountHigh, amountLow);
    const own = this.store.originShardAt(OWN_ORIGIN, this.shard);
    this.lists.beforeChange(own, record);
    memory[record + Component.positiveLow] = positiveLow;
    memory[record + Component.positiveHigh] = positiveHigh;
    this.lists.stamp(this.shard, own, record, this.clock.nowVersion);
    this.valueLow = low;
    this.valueHigh = high;
    return Status.Ok;
  }

  private addWithCare(amountHigh: number, amountLow: number): Status {
    if (amountHigh < 0 && this.isGrowOnly()) return Status.GrowOnly;
    this.publish();
    const status = this.ensureRecord();
    if (status !== Status.Ok) return status;
    const { memory, shard, record } = this;
    const begins = !this.generations.isOwnAlive(record);
    let sum = record + Component.positiveLow;
    if (amountHigh < 0) {
      const attachment = this.attachments.ensure(shard, record, Kind.negative);
      if (attachment === 0) return this.abandon(Status.OutOfMemory);
      sum = attachment + NegativeWord.low;
      amountHigh = ~amountHigh + (amountLow === 0 ? 1 : 0);
      amountLow = -amountLow | 0;
    }
    this.ownGeneration.before(shard, record);
    const folds = !begins && wouldOverflowAt(memory, sum, amountHigh, amountLow);
    if (begins && !this.ownGeneration.begin(shard, record)) return this.giveUp();
    if (folds) this.ownGeneration.beginFolded(shard, record);
    addInt64At(memory, sum, amountHigh, amountLow);
    this.ownGeneration.stamp(shard, record);
    if (begins || folds) this.settle();
    this.load();
    return Status.Ok;
  }

  /** Observed reset, then this value. */
  assign(valueHigh: number, valueLow: number, keepExpiry: boolean): Status {
    if (this.isGrowOnly()) return Status.GrowOnly;
    this.publish();
    const status = this.ensureRecord();
    if (status !== Status.Ok) return status;
    const { memory, shard, record } = this;
    const negative = valueHigh < 0 ? this.attachments.ensure(shard, record, Kind.negative) : 0;
    if (valueHigh < 0 && negative === 0) return this.abandon(Status.OutOfMemory);
    const expiresAtMs = keepExpiry ? this.expiresAtMs : 0;
    this.ownGeneration.before(shard, record);
    const hasForeign = this.generations.firstForeign(record) !== 0;
    // Other origins may have taken over the expiry that ends here, in generations this node does not hold yet.
    const isExpirySent = this.generations.decidedAt(record) !== 0 && !this.isAlone(shard);
    if (hasForeign && !this.ownGeneration.cancelForeign(shard, record)) return this.giveUp();
    const version = this.ownGeneration.nextDecision(shard, record);
    if (!this.ownGeneration.begin(shard, record)) return this.giveUp();
    const decided = expiresAtMs !== 0 || hasForeign || isExpirySent ? version : 0;
    if (!this.ownGeneration.decide(shard, record, expiresAtMs, decided)) return this.giveUp();
    if (valueHigh < 0) {
      memory[negative + NegativeWord.low] = -valueLow | 0;
      memory[negative + NegativeWord.high] = ~valueHigh + (valueLow === 0 ? 1 : 0);
    } else {
      memory[record + Component.positiveLow] = valueLow;
      memory[record + Component.positiveHigh] = valueHigh;
    }
    return this.finish();
  }

  /** Observed reset: the part of the key that this node has seen is cancelled, the rest survives. */
  remove(): Status {
    if (!this.exists) return Status.Ok;
    if (this.isGrowOnly()) return Status.GrowOnly;
    const status = this.removeLoaded();
    if (status === Status.Ok) this.load();
    return status;
  }

  /** The same in every namespace: the key is another group's from now on, or was never wholly here. */
  discard(): Status {
    if (!this.exists) return Status.Ok;
    const status = this.removeLoaded();
    if (status === Status.Ok) this.load();
    return status;
  }

  private removeLoaded(): Status {
    const { shard, record } = this;
    this.unpublished.discard(shard, record);
    if (!this.unpublished.hasNoComponents(record)) {
      if (this.generations.firstForeign(record) === 0 && this.isAlone(shard)) {
        this.records.dropOwn(shard, record);
      } else {
        this.ownGeneration.before(shard, record);
        if (!this.ownGeneration.cancelForeign(shard, record)) return this.giveUp();
        this.ownGeneration.end(shard, record);
        this.ownGeneration.stamp(shard, record);
      }
    }
    this.settle();
    return Status.Ok;
  }

  /** The same for a record's key, of a namespace that is not grow-only. Its lock is held, and no key is open. */
  removeRecord(shard: number, record: number): void {
    if (!this.isVisible(shard, record)) return;
    this.shard = shard;
    this.record = record;
    this.removeLoaded();
    this.shard = 0;
    this.record = 0;
  }

  expireAt(atMs: number): Status {
    if (!this.exists) return Status.Ok;
    if (atMs <= this.clock.nowMs) return this.remove();
    this.publish();
    const { memory, shard, record } = this;
    const attachment = this.attachments.ensure(shard, record, Kind.expiry);
    if (attachment === 0) return Status.OutOfMemory;
    this.ownGeneration.before(shard, record);
    if (!this.generations.isOwnAlive(record) && !this.ownGeneration.begin(shard, record)) return this.giveUp();
    // An expiry must lie behind the birth of every generation it is to end, also of one dated by a clock ahead of ours.
    let expiresAt = atMs;
    for (let at = this.generations.firstForeign(record); at !== 0; at = linkAt(memory, at + Component.foreignSibling)) {
      expiresAt = Math.max(expiresAt, this.generations.bornMs(at) + 1);
    }
    this.ownGeneration.decide(shard, record, expiresAt, this.ownGeneration.nextDecision(shard, record));
    return this.finish();
  }

  persist(): Status {
    if (!this.exists || this.expiresAtMs === 0) return Status.Ok;
    this.publish();
    const { shard, record } = this;
    this.ownGeneration.before(shard, record);
    if (!this.generations.isOwnAlive(record) && !this.ownGeneration.begin(shard, record)) return this.giveUp();
    const isOnlyHere = this.isAlone(shard) && this.generations.firstForeign(record) === 0;
    this.ownGeneration.decide(shard, record, 0, isOnlyHere ? 0 : this.ownGeneration.nextDecision(shard, record));
    return this.finish();
  }

  /**
   * Adds an amount, from 0 on, to the unpublished count of the open key, which has no components. It counts on this
   * node, and can be published, until `untilMs`, or until the time given before if that is later; published, it expires
   * at `expiresAtMs`, which may lie later.
   */
  addUnpublished(amountHigh: number, amountLow: number, untilMs: number, expiresAtMs = untilMs): Status {
    if (this.leavesRange(amountHigh, amountLow)) return Status.Overflow;
    const status = this.ensureRecord();
    if (status !== Status.Ok) return status;
    const { shard, record } = this;
    if (!this.unpublished.add(shard, record, amountHigh, amountLow, untilMs, expiresAtMs))
      return this.abandon(Status.OutOfMemory);
    if (!this.exists) this.records.count(shard, record, true);
    this.exists = true;
    this.goesOn = false;
    this.growValue(amountHigh, amountLow);
    this.expiresAtMs = this.unpublished.untilMs(record);
    if (this.memory[HeaderWord.publishesAll] !== 0) this.publish();
    return Status.Ok;
  }

  /** The same for a key that has an unpublished count already, with the times that were given then. */
  addMoreUnpublished(amountHigh: number, amountLow: number): Status {
    if (this.leavesRange(amountHigh, amountLow)) return Status.Overflow;
    this.unpublished.addMore(this.record, amountHigh, amountLow);
    this.growValue(amountHigh, amountLow);
    if (this.memory[HeaderWord.publishesAll] !== 0) this.publish();
    return Status.Ok;
  }

  /** Whether the value cannot take an amount from 0 on. */
  private leavesRange(amountHigh: number, amountLow: number): boolean {
    const carry = (this.valueLow + amountLow) >>> 0 < amountLow >>> 0 ? 1 : 0;
    const high = (this.valueHigh + amountHigh + carry) | 0;
    return ((this.valueHigh ^ high) & (amountHigh ^ high)) < 0;
  }

  private growValue(amountHigh: number, amountLow: number): void {
    const low = (this.valueLow + amountLow) | 0;
    this.valueHigh = (this.valueHigh + amountHigh + (low >>> 0 < amountLow >>> 0 ? 1 : 0)) | 0;
    this.valueLow = low;
  }

  /** Publishes the unpublished count of the open key, if it has one. */
  publish(): void {
    if (this.record === 0 || !this.unpublished.has(this.record)) return;
    this.unpublished.publish(this.shard, this.record);
    this.settle();
    this.load();
  }

  private isGrowOnly(): boolean {
    return this.growOnly.covers(this.input!, this.keyStart, this.keyLength);
  }

  /** Whether no peer and no disk has to acknowledge the changes of a shard. */
  isAlone(shard: number): boolean {
    return this.store.numbers[(shard >>> 1) + ShardNumber.acknowledged] === Number.POSITIVE_INFINITY;
  }

  private ensureRecord(): Status {
    if (this.record !== 0) return Status.Ok;
    if (this.isForbidden) return Status.Reserved;
    if (this.keyLength > MAX_KEY_BYTES) return Status.KeyTooLong;
    this.record = this.records.make(this.shard, this.input!, this.keyStart, this.keyLength);
    return this.record === 0 ? Status.OutOfMemory : Status.Ok;
  }

  private finish(): Status {
    this.ownGeneration.stamp(this.shard, this.record);
    this.settle();
    this.load();
    return Status.Ok;
  }

  /** After any change to the open key but the plainest: summary, wheel and counts; an empty record is freed. */
  private settle(): void {
    if (this.records.refreshKey(this.shard, this.record)) this.record = 0;
  }

  /** A record may have been made for a change that then failed; it must not stay. */
  private abandon(status: Status): Status {
    this.settle();
    this.load();
    return status;
  }

  /** Even the reserve is used up in mid-change: the half done is stamped, so that the component stays a true one. */
  private giveUp(): Status {
    this.ownGeneration.stamp(this.shard, this.record);
    return this.abandon(Status.OutOfMemory);
  }
}
