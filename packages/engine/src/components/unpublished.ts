import { type Attachments, Kind } from '../memory/attachments.js';
import type { Clock } from '../memory/clock.js';
import { Component, versionOf } from '../memory/record.js';
import type { Store } from '../memory/store.js';
import type { Generations } from './generations.js';
import type { OwnGeneration } from './own-generation.js';

/**
 * What this node has counted in a key and told nobody: an amount, until when it counts, and when the generation that it may become
 * expires, which hang off the key's record.
 *
 * Nothing of it is in a component. It has no version, so it is in no list, no digest and no batch: peers and disk neither
 * hear of it nor miss it, and every rule about what replicas hold is as if the key had not been touched here. Readers on this node
 * see it as part of the value.
 *
 *   untold    --hold-->     unpublished       the key has no component here, own or foreign
 *   unpublished  --hold-->     unpublished       the amount grows
 *   unpublished  --publish-->  told           the amount becomes an own generation, born now; it is an ordinary component from here on
 *   unpublished  --discard-->  untold         its time is over, or the key was removed
 *
 * It is published by any ordinary change of the key, and as soon as a component of another origin arrives: once one region has
 * spoken of a key, all do. Publishing needs no memory, so it cannot fail.
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

  /** Whether nobody has been told of the key, by this node or another, as far as this one knows. */
  hasNoComponents(record: number): boolean {
    return versionOf(this.store.memory, record) === 0 && this.attachments.find(record, Kind.summary) === 0;
  }

  has(record: number): boolean {
    return this.attachments.find(record, Kind.unpublished) !== 0;
  }

  /** Until when it counts; 0 where nothing is unpublished. */
  untilMs(record: number): number {
    const attachment = this.attachments.find(record, Kind.unpublished);
    return attachment === 0 ? 0 : this.attachments.numberAt(attachment, 4);
  }

  /** Adds an amount from 0 on that the value can take, to a key that is untold. False where memory is full. */
  add(
    shard: number,
    record: number,
    amountHigh: number,
    amountLow: number,
    untilMs: number,
    expiresAtMs: number,
  ): boolean {
    const { memory } = this.store;
    let attachment = this.attachments.find(record, Kind.unpublished);
    if (attachment === 0) {
      // The wheel's links are in an expiry: without one it would never be dropped.
      if (this.attachments.ensure(shard, record, Kind.expiry) === 0) return false;
      attachment = this.attachments.add(shard, record, Kind.unpublished);
      if (attachment === 0) return false;
    } else if (this.attachments.numberAt(attachment, 4) <= this.clock.nowMs) {
      memory[attachment + 2] = 0;
      memory[attachment + 3] = 0;
    }
    this.grow(attachment, amountHigh, amountLow);
    if (untilMs > this.attachments.numberAt(attachment, 4)) {
      this.attachments.setNumberAt(attachment, 4, untilMs);
      this.attachments.setNumberAt(attachment, 6, expiresAtMs);
      this.generations.refresh(shard, record);
    }
    return true;
  }

  /** Adds to what is unpublished already. Told no times, which past 32 bits are an allocation for each call. */
  addMore(record: number, amountHigh: number, amountLow: number): void {
    this.grow(this.attachments.find(record, Kind.unpublished), amountHigh, amountLow);
  }

  private grow(attachment: number, amountHigh: number, amountLow: number): void {
    const { memory } = this.store;
    const low = (memory[attachment + 2] + amountLow) | 0;
    const carry = low >>> 0 < amountLow >>> 0 ? 1 : 0;
    memory[attachment + 2] = low;
    memory[attachment + 3] = (memory[attachment + 3] + amountHigh + carry) | 0;
  }

  /**
   * Makes what is unpublished an own generation, with the expiry that the key has elsewhere or, where nobody has decided one, its own. The caller
   * refreshes the key afterwards. What is over is never told; what there is no memory for stays unpublished until the next time.
   */
  publish(shard: number, record: number): void {
    const { memory } = this.store;
    const attachment = this.attachments.find(record, Kind.unpublished);
    if (attachment === 0) return;
    const low = memory[attachment + 2];
    const high = memory[attachment + 3];
    const untilMs = this.attachments.numberAt(attachment, 4);
    const expiresAtMs = this.attachments.numberAt(attachment, 6);
    if (untilMs <= this.clock.nowMs) {
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
