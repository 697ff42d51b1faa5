import { assert } from '../memory/assert.js';
import {
  type Attachments,
  CancelNumber,
  CancelWord,
  ExpiryNumber,
  FloorNumber,
  Kind,
  NegativeWord,
} from '../memory/attachments.js';
import type { Clock } from '../memory/clock.js';
import { raiseUint64At, setInt64At } from '../memory/int64.js';
import { OWN_ORIGIN, ShardNumber } from '../memory/layout.js';
import { linkAt } from '../memory/link.js';
import {
  bornOf,
  Component,
  Flag,
  isPresent,
  MAX_VERSION,
  originIndexOf,
  setBorn,
  versionAt,
  versionOf,
} from '../memory/record.js';
import type { Store } from '../memory/store.js';
import type { Generations } from './generations.js';
import type { VersionLists } from './version-list.js';
import type { Wheel } from './wheel.js';

/**
 * Changes to this node's own component of a key: a generation begins, ends, outlives a floor, gets an expiry; a reset
 * cancels the generations of other origins that it sees. Every change lies between `before` and `stamp`, which gives it
 * the next version. The caller refreshes the key's summary afterwards (generations.ts).
 */
export class OwnGeneration {
  private readonly store: Store;
  private readonly clock: Clock;
  private readonly lists: VersionLists;
  private readonly generations: Generations;
  private readonly wheel: Wheel;
  private readonly attachments: Attachments;

  constructor(store: Store, clock: Clock, lists: VersionLists, generations: Generations, wheel: Wheel) {
    this.store = store;
    this.clock = clock;
    this.lists = lists;
    this.generations = generations;
    this.wheel = wheel;
    this.attachments = store.attachments;
  }

  before(shard: number, record: number): void {
    this.lists.beforeChange(this.store.originShardAt(OWN_ORIGIN, shard), record);
  }

  stamp(shard: number, record: number): number {
    const version = this.lists.stamp(shard, this.store.originShardAt(OWN_ORIGIN, shard), record, this.clock.nowVersion);
    if (!isPresent(this.store.memory, record)) this.store.numbers[(shard >>> 1) + ShardNumber.ended] = version;
    return version;
  }

  /** The version that this change will be stamped with. */
  nextVersion(shard: number): number {
    return this.lists.nextVersion(shard, this.clock.nowVersion);
  }

  /**
   * The version that an expiry set now will be stamped with: later than every expiry setting this node holds, also
   * where those were dated by a clock ahead of ours.
   */
  nextDecision(shard: number, record: number): number {
    this.lists.raise(shard, this.generations.latestDecision(record) + 1);
    return this.nextVersion(shard);
  }

  /**
   * A new generation of amount zero. Where generations of other origins go on, it shares the key's expiry. Where the
   * key was gone, an expiry that others still hold must not reach into this generation, and generations that expiry
   * ended must not come back with it. Where no expiry is in force, it gets the one given here, if any. False when
   * memory ran out: no generation has begun then.
   */
  begin(shard: number, record: number, expiresAtMs = 0): boolean {
    let version = this.nextVersion(shard);
    let expiresAt = expiresAtMs;
    let decided = 0;
    if (this.generations.firstForeign(record) !== 0) {
      const floor = this.generations.floorMs(record);
      this.lists.raise(shard, versionAt(floor));
      version = this.nextVersion(shard);
      if (!this.keepFloor(shard, record, floor)) return false;
      const inForce = this.generations.expiryInForce(record);
      if (inForce !== 0 && this.generations.foreignTotal(record).generations > 0) {
        expiresAt = this.generations.expiresAt(inForce);
        decided = this.generations.decidedAt(inForce);
      } else if (this.generations.othersDecided(record)) {
        version = this.nextDecision(shard, record);
        decided = version;
      }
    }
    if (decided === 0 && expiresAtMs !== 0) {
      version = this.nextDecision(shard, record);
      decided = version;
    }
    if (!this.decide(shard, record, expiresAt, decided)) return false;
    this.clearAmounts(record);
    setBorn(this.store.memory, record, version);
    this.store.memory[record + Component.bornHigh] |= Flag.present;
    return true;
  }

  end(shard: number, record: number): void {
    this.decide(shard, record, 0, 0);
    this.clearAmounts(record);
    setBorn(this.store.memory, record, this.nextVersion(shard));
    this.store.memory[record + Component.bornHigh] &= ~Flag.present;
  }

  /**
   * The generation goes on past a floor. An expiry that passed before this node learned of it would end the generation
   * together with increments made after it; with the floor on record in its own component it counts as one born there.
   */
  outlive(shard: number, record: number, floorMs: number): void {
    this.recordFloor(shard, record, floorMs);
  }

  /**
   * Puts a floor on record where the generation of another origin ends by it alone. An owner that is there outlives the
   * floor when it learns of it; one that is gone never will, and its generation must stay dead. False when there is no
   * memory for it.
   */
  keepFloor(shard: number, record: number, floorMs: number): boolean {
    if (floorMs <= this.generations.recordedFloor(record) || !this.generations.needsFloor(record, floorMs)) return true;
    return this.recordFloor(shard, record, floorMs);
  }

  private recordFloor(shard: number, record: number, floorMs: number): boolean {
    assert(floorMs <= Number.MAX_SAFE_INTEGER, 'a floor has 53 bits');
    const attachment = this.attachments.ensure(shard, record, Kind.floor);
    if (attachment !== 0) this.attachments.setNumberAt(attachment, FloorNumber.floorMs, floorMs);
    return attachment !== 0;
  }

  /**
   * Drops a floor that every replica has acknowledged and every owner has outlived. True when there was one and no
   * generation depends on it: that of an origin that is gone stays under its floor for ever.
   */
  collectFloor(shard: number, record: number): boolean {
    const attachment = this.attachments.find(record, Kind.floor);
    const acknowledged = this.store.numbers[(shard >>> 1) + ShardNumber.acknowledged];
    if (attachment === 0 || versionOf(this.store.memory, record) > acknowledged) return false;
    const floor = this.attachments.numberAt(attachment, FloorNumber.floorMs);
    if (this.generations.needsFloor(record, floor) || this.generations.hasOutlived(record, floor)) return false;
    this.before(shard, record);
    this.attachments.drop(shard, record, attachment);
    this.stamp(shard, record);
    return true;
  }

  /**
   * Drops this node's resets of an origin's generations other than the one born at `born`, which that origin is in or
   * was in last. Every replica must have acknowledged that one: where an earlier generation is still held, it would
   * come back without the reset.
   */
  collectCancel(shard: number, record: number, origin: number, born: number): void {
    for (let at = this.generations.findCancel(record, origin); at !== 0; ) {
      const next = this.generations.nextCancel(at);
      if (this.attachments.numberAt(at, CancelNumber.born) !== born) {
        this.before(shard, record);
        this.attachments.drop(shard, record, at);
        this.stamp(shard, record);
      }
      at = next;
    }
  }

  /**
   * A generation whose P or N is full though their difference is not goes on as a new one that starts from the
   * difference. It takes 2^64 of increments to get here. A reset elsewhere that has not arrived by then misses its
   * mark.
   */
  beginFolded(shard: number, record: number): void {
    const { memory } = this.store;
    const value = this.generations.contribution(record, record);
    setBorn(memory, record, this.nextVersion(shard));
    this.clearAmounts(record);
    const negative = this.attachments.find(record, Kind.negative);
    if (value >= 0n) setInt64At(memory, record + Component.positiveLow, value);
    else setInt64At(memory, negative + NegativeWord.low, -value);
  }

  /** Sets the own generation's expiry; `decided` 0 drops the expiry setting itself. False when memory ran out. */
  decide(shard: number, record: number, expiresAtMs: number, decided: number): boolean {
    assert(decided <= MAX_VERSION && expiresAtMs <= Number.MAX_SAFE_INTEGER, 'an expiry and its version have 53 bits');
    let attachment = this.attachments.find(record, Kind.expiry);
    if (decided === 0) {
      if (attachment === 0) return true;
      this.wheel.disarm(shard, record);
      this.attachments.drop(shard, record, attachment);
      return true;
    }
    if (attachment === 0) attachment = this.attachments.add(shard, record, Kind.expiry);
    if (attachment === 0) return false;
    this.attachments.setNumberAt(attachment, ExpiryNumber.expiresAtMs, expiresAtMs);
    this.attachments.setNumberAt(attachment, ExpiryNumber.decided, decided);
    return true;
  }

  /**
   * Cancels the part that this node holds of every foreign generation that counts, or the part it held at an earlier
   * reset if that is more: a crash can lose changes of other origins and leave this node's reset of them. False when
   * memory ran out.
   */
  cancelForeign(shard: number, record: number): boolean {
    const memory = this.store.memory;
    const floor = this.generations.floorMs(record);
    for (let at = this.generations.firstForeign(record); at !== 0; at = linkAt(memory, at + Component.foreignSibling)) {
      if (!isPresent(memory, at) || this.generations.isForeignDead(at, floor)) continue;
      const cancel = this.ensureCancel(shard, record, originIndexOf(memory, at), bornOf(memory, at));
      if (cancel === 0) return false;
      raiseUint64At(memory, cancel + CancelWord.positiveLow, at + Component.positiveLow);
      const negative = this.attachments.find(at, Kind.negative);
      if (negative !== 0) raiseUint64At(memory, cancel + CancelWord.negativeLow, negative + NegativeWord.low);
    }
    return true;
  }

  private ensureCancel(shard: number, record: number, origin: number, born: number): number {
    let at = this.generations.findCancel(record, origin);
    while (at !== 0 && this.attachments.numberAt(at, CancelNumber.born) !== born) at = this.generations.nextCancel(at);
    if (at !== 0) return at;
    const cancel = this.attachments.addCancel(shard, record, origin);
    if (cancel === 0) return 0;
    this.attachments.setNumberAt(cancel, CancelNumber.born, born);
    return cancel;
  }

  /** N keeps its attachment if it has one: a change that needs it must not run out of memory half-way. */
  private clearAmounts(record: number): void {
    const { memory } = this.store;
    memory[record + Component.positiveLow] = 0;
    memory[record + Component.positiveHigh] = 0;
    const negative = this.attachments.find(record, Kind.negative);
    if (negative === 0) return;
    memory[negative + NegativeWord.low] = 0;
    memory[negative + NegativeWord.high] = 0;
  }
}
