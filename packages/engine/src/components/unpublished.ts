import { type Attachments, Kind, UnpublishedNumber, UnpublishedWord } from '../memory/attachments.js';
import type { Clock } from '../memory/clock.js';
import { addInt64At } from '../memory/int64.js';
import { Component, versionOf } from '../memory/record.js';
import type { Store } from '../memory/store.js';
import type { Generations } from './generations.js';
import type { OwnGeneration } from './own-generation.js';

/**
 * Unpublished counts: an amount that this node has counted in a key and not published, until when it counts, and when
 * the generation that it may become expires. They hang off the key's record.
 *
 * An unpublished count is in no component. It has no version, so it is in no list, no digest and no batch: peers and
 * disk neither receive nor miss it, and every rule about replicas holds as if the key had not been touched here.
 * Readers on this node see it as part of the value.
 *
 *   none         --add-->      unpublished  the key has no component here, own or foreign
 *   unpublished  --add-->      unpublished  the amount grows
 *   unpublished  --publish-->  published    the amount becomes an own generation, born now: an ordinary component
 *   unpublished  --discard-->  none         its time is over, or the key was removed
 *
 * It is published by any ordinary change of the key, and as soon as a component of another origin arrives: once one
 * region has published a key, all do. Publishing needs no memory, so it cannot fail.
 */
export class Unpublished {
  private readonly store: Store;
  private readonly clock: Clock;
  private readonly generations: Generations;
  private readonly ownGeneration: OwnGeneration;
  private readonly attachments: Attachments;

  constructor(store: Store, clock: Clock, generations: Generations, ownGeneration: OwnGeneration) {
    this.store = store;
    this.clock = clock;
    this.generations = generations;
    this.ownGeneration = ownGeneration;
    this.attachments = store.attachments;
  }

  /** Whether no origin has published the key, as far as this node knows. */
  hasNoComponents(record: number): boolean {
    return versionOf(this.store.memory, record) === 0 && this.attachments.find(record, Kind.summary) === 0;
  }

  has(record: number): boolean {
    return this.attachments.find(record, Kind.unpublished) !== 0;
  }

  /** Until when the unpublished count counts; 0 where there is none. */
  untilMs(record: number): number {
    const attachment = this.attachments.find(record, Kind.unpublished);
    return attachment === 0 ? 0 : this.attachments.numberAt(attachment, UnpublishedNumber.untilMs);
  }

  /** Adds an amount from 0 on that the value can take, to a key without components. False where memory is full. */
  add(
    shard: number,
    record: number,
    amountHigh: number,
    amountLow: number,
    untilMs: number,
    expiresAtMs: number,
  ): boolean {
    let attachment = this.attachments.find(record, Kind.unpublished);
    if (attachment === 0) {
      // The wheel's links are in an expiry: without one it would never be dropped.
      if (this.attachments.ensure(shard, record, Kind.expiry) === 0) return false;
      attachment = this.attachments.add(shard, record, Kind.unpublished);
      if (attachment === 0) return false;
    } else if (this.attachments.numberAt(attachment, UnpublishedNumber.untilMs) <= this.clock.nowMs) {
      this.store.memory[attachment + UnpublishedWord.low] = 0;
      this.store.memory[attachment + UnpublishedWord.high] = 0;
    }
    addInt64At(this.store.memory, attachment + UnpublishedWord.low, amountHigh, amountLow);
    if (untilMs > this.attachments.numberAt(attachment, UnpublishedNumber.untilMs)) {
      this.attachments.setNumberAt(attachment, UnpublishedNumber.untilMs, untilMs);
      this.attachments.setNumberAt(attachment, UnpublishedNumber.expiresAtMs, expiresAtMs);
      this.generations.refresh(shard, record);
    }
    return true;
  }

  /** Adds to an unpublished count that is there. Without times: beyond 32 bits each is an allocation a call. */
  addMore(record: number, amountHigh: number, amountLow: number): void {
    const attachment = this.attachments.find(record, Kind.unpublished);
    addInt64At(this.store.memory, attachment + UnpublishedWord.low, amountHigh, amountLow);
  }

  /**
   * Makes the unpublished count an own generation, with the expiry in force or, where no origin has set one, its own.
   * The caller refreshes the key afterwards. A count whose time is over is discarded; one that there is no memory for
   * stays unpublished until the next attempt.
   */
  publish(shard: number, record: number): void {
    const { memory } = this.store;
    const attachment = this.attachments.find(record, Kind.unpublished);
    if (attachment === 0) return;
    const low = memory[attachment + UnpublishedWord.low];
    const high = memory[attachment + UnpublishedWord.high];
    const expiresAtMs = this.attachments.numberAt(attachment, UnpublishedNumber.expiresAtMs);
    if (this.attachments.numberAt(attachment, UnpublishedNumber.untilMs) <= this.clock.nowMs) {
      this.discard(shard, record);
      return;
    }
    this.ownGeneration.before(shard, record);
    if (this.ownGeneration.begin(shard, record, expiresAtMs)) {
      this.discard(shard, record);
      memory[record + Component.positiveLow] = low;
      memory[record + Component.positiveHigh] = high;
    }
    this.ownGeneration.stamp(shard, record);
  }

  discard(shard: number, record: number): void {
    const attachment = this.attachments.find(record, Kind.unpublished);
    if (attachment !== 0) this.attachments.drop(shard, record, attachment);
  }
}
