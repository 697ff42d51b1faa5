import { type Attachments, Kind } from '../memory/attachments.js';
import type { Clock } from '../memory/clock.js';
import { OWN_ORIGIN, Shard } from '../memory/layout.js';
import { bornOf, Component, Flag, isPresent, originIndexOf, setBorn, versionAt, versionOf } from '../memory/record.js';
import type { Store } from '../memory/store.js';
import type { Generations } from './generations.js';
import type { VersionLists } from './version-list.js';
import type { Wheel } from './wheel.js';

/**
 * Changes to this node's own component of a key: a generation begins, ends, outlives a floor, gets an expiry; a reset cancels
 * what it sees of others. Every change lies between `before` and `stamp`, which gives it the next version. The caller
 * refreshes the key's summary afterwards (generations.ts).
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
    const version = this.lists.stamp(this.store.originShardAt(OWN_ORIGIN, shard), record, this.clock.nowVersion);
    if (!isPresent(this.store.memory, record)) this.store.numbers[(shard >>> 1) + Shard.endedNumber] = version;
    return version;
  }

  /** The version that this change will be stamped with. */
  nextVersion(shard: number): number {
    return this.lists.nextVersion(shard, this.clock.nowVersion);
  }

  /**
   * The version that a decision about the expiry, made now, will be stamped with: later than every decision it was made
   * in sight of, also where those were dated by a clock ahead of ours.
   */
  nextDecision(shard: number, record: number): number {
    this.lists.raise(shard, this.generations.latestDecision(record) + 1);
    return this.nextVersion(shard);
  }

  /**
   * A new generation of amount zero. Where other origins' generations go on, it shares the key's expiry. Where the key was gone, an
   * expiry that others still hold must not reach into this generation, and generations it ended must not come back with it. Where nobody's
   * expiry holds, it gets the one given here, if any. False when memory ran out: no generation has begun then.
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
      const ruler = this.generations.ruler(record);
      if (ruler !== 0 && this.generations.foreignTotal(record).generations > 0) {
        expiresAt = this.generations.expiresAt(ruler);
        decided = this.generations.decidedAt(ruler);
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
   * The generation goes on past a floor. An expiry that passed before this node learned of it would kill the generation together with
   * increments made after it; with the floor on record in its own component the generation counts as one born there.
   */
  outlive(shard: number, record: number, floorMs: number): void {
    const attachment = this.attachments.ensure(shard, record, Kind.floor);
    if (attachment !== 0) this.attachments.setNumberAt(attachment, 2, floorMs);
  }

  /**
   * Puts a floor on record where the generation of another origin ends by it alone: an owner that is there outlives the floor
   * when it hears of it, one that is no more never will, and its generation must stay dead. False when there is no memory for it.
   */
  keepFloor(shard: number, record: number, floorMs: number): boolean {
    if (floorMs <= this.generations.recordedFloor(record) || !this.generations.needsFloor(record, floorMs)) return true;
    const attachment = this.attachments.ensure(shard, record, Kind.floor);
    if (attachment !== 0) this.attachments.setNumberAt(attachment, 2, floorMs);
    return attachment !== 0;
  }

  /**
   * Lets go of a floor that everybody has seen and owners have outlived. True when there was one, and nothing that is held
   * still depends on it: the generation of an origin that is no more stays under it for ever.
   */
  collectFloor(shard: number, record: number): boolean {
    const attachment = this.attachments.find(record, Kind.floor);
    const acknowledged = this.store.numbers[(shard >>> 1) + Shard.acknowledgedNumber];
    if (attachment === 0 || versionOf(this.store.memory, record) > acknowledged) return false;
    const floor = this.attachments.numberAt(attachment, 2);
    if (this.generations.needsFloor(record, floor) || this.generations.hasOutlived(record, floor)) return false;
    this.before(shard, record);
    this.attachments.drop(shard, record, attachment);
    this.stamp(shard, record);
    return true;
  }

  /**
   * An origin has said which generation it is in, or was last, and everybody has seen that: what this node had cancelled of
   * earlier ones is void. Not before: to whoever still holds such a generation, it would come back with the cancel gone.
   */
  collectCancel(shard: number, record: number, origin: number, born: number): void {
    for (let at = this.attachments.find(record, Kind.cancel); at !== 0; ) {
      const next = this.attachments.nextOfKind(at);
      if (this.attachments.extraOf(at) === origin && this.attachments.numberAt(at, 2) !== born) {
        this.before(shard, record);
        this.attachments.drop(shard, record, at);
        this.stamp(shard, record);
      }
      at = next;
    }
  }

  /**
   * A generation whose P or N is full though their difference is not: it goes on as a new one that starts from the difference.
   * It takes 2^64 of increments to get here. A reset elsewhere that has not arrived by then misses its mark.
   */
  beginFolded(shard: number, record: number): void {
    const value = this.generations.contribution(record, record);
    setBorn(this.store.memory, record, this.nextVersion(shard));
    this.clearAmounts(record);
    const negative = this.attachments.find(record, Kind.negative);
    if (value >= 0n) this.setAmount(record, Component.positiveLow, value);
    else this.setAmount(negative, 2, -value);
  }

  /** Sets the own generation's expiry; `decided` 0 takes back even the memory of a decision. */
  decide(shard: number, record: number, expiresAtMs: number, decided: number): boolean {
    let attachment = this.attachments.find(record, Kind.expiry);
    if (decided === 0) {
      if (attachment === 0) return true;
      this.wheel.disarm(shard, record);
      this.attachments.drop(shard, record, attachment);
      return true;
    }
    if (attachment === 0) attachment = this.attachments.add(shard, record, Kind.expiry);
    if (attachment === 0) return false;
    this.attachments.setNumberAt(attachment, 2, expiresAtMs);
    this.attachments.setNumberAt(attachment, 4, decided);
    return true;
  }

  /**
   * Cancels, for every foreign generation that counts, as much of it as this node holds, or has held when it cancelled it before: a
   * crash can take back what others had told, and leave what was done about it. False when memory ran out.
   */
  cancelForeign(shard: number, record: number): boolean {
    const memory = this.store.memory;
    const floor = this.generations.floorMs(record);
    for (let at = this.generations.firstForeign(record); at !== 0; at = memory[at + Component.foreignSibling]) {
      if (!isPresent(memory, at) || this.generations.isForeignDead(at, floor)) continue;
      const attachment = this.cancelOf(shard, record, originIndexOf(memory, at), bornOf(memory, at));
      if (attachment === 0) return false;
      raiseUint64(memory, attachment + 4, at + Component.positiveLow);
      const negative = this.attachments.find(at, Kind.negative);
      if (negative !== 0) raiseUint64(memory, attachment + 6, negative + 2);
    }
    return true;
  }

  /** Whether this node holds a reset of some generation of that origin. */
  cancels(record: number, origin: number): boolean {
    let at = this.attachments.find(record, Kind.cancel);
    while (at !== 0 && this.attachments.extraOf(at) !== origin) at = this.attachments.nextOfKind(at);
    return at !== 0;
  }

  /** Resets and floors go too, where there is nobody left who needs them. */
  takeBack(shard: number, record: number): void {
    for (const kind of [Kind.floor, Kind.cancel]) {
      for (let at = this.attachments.find(record, kind); at !== 0; at = this.attachments.find(record, kind)) {
        this.attachments.drop(shard, record, at);
      }
    }
  }

  /** Whether the own component says nothing any more: no generation, no cancels, no floor. */
  isEmpty(record: number): boolean {
    return (
      !isPresent(this.store.memory, record) &&
      this.attachments.find(record, Kind.cancel) === 0 &&
      this.attachments.find(record, Kind.floor) === 0
    );
  }

  private cancelOf(shard: number, record: number, origin: number, born: number): number {
    let at = this.attachments.find(record, Kind.cancel);
    while (at !== 0 && (this.attachments.extraOf(at) !== origin || this.attachments.numberAt(at, 2) !== born))
      at = this.attachments.nextOfKind(at);
    if (at !== 0) return at;
    const attachment = this.attachments.add(shard, record, Kind.cancel);
    if (attachment === 0) return 0;
    this.attachments.setExtra(attachment, origin);
    this.attachments.setNumberAt(attachment, 2, born);
    return attachment;
  }

  /** N keeps its place if it has one: a change that needs it must not run out of memory half-way. */
  private clearAmounts(record: number): void {
    this.setAmount(record, Component.positiveLow, 0n);
    const negative = this.attachments.find(record, Kind.negative);
    if (negative !== 0) this.setAmount(negative, 2, 0n);
  }

  private setAmount(address: number, word: number, amount: bigint): void {
    this.store.memory[address + word] = Number(BigInt.asIntN(32, amount));
    this.store.memory[address + word + 1] = Number(BigInt.asIntN(32, amount >> 32n));
  }
}

/** Makes an unsigned 64-bit number, low half first, at least that at `least`. */
function raiseUint64(memory: Int32Array, at: number, least: number): void {
  const high = memory[least + 1] >>> 0;
  const heldHigh = memory[at + 1] >>> 0;
  if (high < heldHigh || (high === heldHigh && memory[least] >>> 0 <= memory[at] >>> 0)) return;
  memory[at] = memory[least];
  memory[at + 1] = memory[least + 1];
}
