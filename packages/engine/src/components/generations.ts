import { type Attachments, Kind, SummaryFlag } from '../memory/attachments.js';
import type { Clock } from '../memory/clock.js';
import { highHalf, joinUint64, lowHalf } from '../memory/int64.js';
import { Header, OriginShard, OWN_ORIGIN } from '../memory/layout.js';
import { bornOf, Component, isPresent, originIndexOf, timeOfVersion, versionOf } from '../memory/record.js';
import type { Store } from '../memory/store.js';
import type { Wheel } from './wheel.js';

/**
 * Which generations of a key count, and what they come to. A pure function of the key's components and the time, so that
 * replicas that hold the same components agree:
 *
 *   decision   the expiry set last on the key: the greatest (decided, expires at) among its components. In force is the
 *              last one that has not passed.
 *   floor      the greatest floor among its components, or the latest time that has passed of those decided after the
 *              decision in force, if later.
 *   dead       a generation whose own expiry has passed, or that was born before the floor and has not outlived it: its owner,
 *              hearing of the floor too late, puts it on record in its own component.
 *   cancelled  a generation of which a reset has observed all there is; where it observed a part, that part does not count.
 *   value      Σ P − Σ N over the generations that are present and not dead, less what resets have observed of them.
 *
 * An owner brings its own generation in line with a newer decision as soon as it learns of it (merge.ts), so the own generation's
 * expiry is always the key's. Reading a key that only this node ever touched needs none of this: no summary, no work.
 *
 * The result for the other origins is kept in the key's summary, with the time until which it holds.
 */

/** Sums beyond this are worked out exactly and clamped to 64 bits when read; no real counter gets there. */
const NARROW_LIMIT = 1n << 62n;

export class Generations {
  private readonly store: Store;
  private readonly clock: Clock;
  private readonly wheel: Wheel;
  private readonly attachments: Attachments;

  constructor(store: Store, clock: Clock, wheel: Wheel) {
    this.store = store;
    this.clock = clock;
    this.wheel = wheel;
    this.attachments = store.attachments;
  }

  firstForeign(record: number): number {
    const summary = this.attachments.find(record, Kind.summary);
    return summary === 0 ? 0 : this.store.memory[summary + 2];
  }

  findForeign(record: number, origin: number): number {
    const memory = this.store.memory;
    let at = this.firstForeign(record);
    while (at !== 0 && originIndexOf(memory, at) !== origin) at = memory[at + Component.foreignSibling];
    return at;
  }

  /** When the component's own expiry is, 0 = none. For a key's record this speaks of the own generation, if there is one. */
  expiresAt(component: number): number {
    if (!isPresent(this.store.memory, component)) return 0;
    const attachment = this.attachments.find(component, Kind.expiry);
    return attachment === 0 ? 0 : this.attachments.numberAt(attachment, 2);
  }

  decidedAt(component: number): number {
    if (!isPresent(this.store.memory, component)) return 0;
    const attachment = this.attachments.find(component, Kind.expiry);
    return attachment === 0 ? 0 : this.attachments.numberAt(attachment, 4);
  }

  isOwnAlive(record: number): boolean {
    if (!isPresent(this.store.memory, record)) return false;
    const expiresAt = this.expiresAt(record);
    return expiresAt === 0 || expiresAt > this.clock.nowMs;
  }

  /** The component that holds the latest decision about the key's expiry, or 0 where nobody decided anything. */
  decider(record: number): number {
    return this.latestDecider(record, Number.NEGATIVE_INFINITY);
  }

  /** The component that holds the expiry in force: the latest decision that has not passed; 0 where there is none. */
  ruler(record: number): number {
    return this.latestDecider(record, this.clock.nowMs);
  }

  private latestDecider(record: number, afterMs: number): number {
    let best = 0;
    for (let at = record; at !== 0; at = this.nextComponent(record, at)) {
      const decided = this.decidedAt(at);
      const expiresAt = this.expiresAt(at);
      if (decided === 0 || (expiresAt !== 0 && expiresAt <= afterMs)) continue;
      const than = best === 0 ? 0 : this.decidedAt(best);
      if (decided > than || (decided === than && expiresAt > this.expiresAt(best))) best = at;
    }
    return best;
  }

  /** The version of the latest decision about the key's expiry that this node holds, 0 = none. */
  latestDecision(record: number): number {
    const decider = this.decider(record);
    return decider === 0 ? 0 : this.decidedAt(decider);
  }

  /** Whether another origin holds an expiry of this key that is not over yet. */
  othersDecided(record: number): boolean {
    for (let at = this.firstForeign(record); at !== 0; at = this.store.memory[at + Component.foreignSibling]) {
      if (this.expiresAt(at) > this.clock.nowMs) return true;
    }
    return false;
  }

  /** Generations of the key born before this time are dead. */
  floorMs(record: number): number {
    return Math.max(this.passedDecision(record), this.greatestRecordedFloor(record));
  }

  /** The latest time that has passed of those decided after the expiry in force; 0 where there is none. */
  private passedDecision(record: number): number {
    const ruler = this.ruler(record);
    const ruling = ruler === 0 ? 0 : this.decidedAt(ruler);
    let passed = 0;
    for (let at = record; at !== 0; at = this.nextComponent(record, at)) {
      const expiresAt = this.expiresAt(at);
      if (expiresAt > passed && expiresAt <= this.clock.nowMs && this.decidedAt(at) > ruling) passed = expiresAt;
    }
    return passed;
  }

  /** The greatest floor that a component of the key has on record. */
  greatestRecordedFloor(record: number): number {
    let floor = 0;
    for (let holder = record; holder !== 0; holder = this.nextComponent(record, holder)) {
      floor = Math.max(floor, this.recordedFloor(holder));
    }
    return floor;
  }

  /** Whether a generation that is held ends by this floor and by nothing else: it would come back if the floor were forgotten. */
  needsFloor(record: number, floorMs: number): boolean {
    const memory = this.store.memory;
    for (let at = this.firstForeign(record); at !== 0; at = memory[at + Component.foreignSibling]) {
      if (this.endsOnlyBy(at, floorMs)) return true;
    }
    return false;
  }

  /** Whether a generation ends by this floor, and would not have ended by then by its own expiry. */
  endsOnlyBy(component: number, floorMs: number): boolean {
    if (!isPresent(this.store.memory, component) || this.bornMs(component) >= floorMs) return false;
    const expiresAt = this.expiresAt(component);
    return expiresAt === 0 || expiresAt > floorMs;
  }

  /** Whether a foreign component can be dropped for good: its own expiry was over at the horizon and it says no more. */
  isOver(shard: number, component: number, horizonMs: number): boolean {
    const expiresAt = this.expiresAt(component);
    return expiresAt !== 0 && expiresAt <= horizonMs && this.isDroppable(shard, component);
  }

  /**
   * Whether nothing would be missed with a foreign component but its generation. Above the watermark it also says that older
   * states of it, still under way, are superseded; and to a peer that has not seen it yet it says when its generation ends.
   */
  private isDroppable(shard: number, component: number): boolean {
    const { memory, numbers } = this.store;
    const state = this.store.originShardAt(originIndexOf(memory, component), shard);
    const version = versionOf(memory, component);
    if (version > numbers[(state >>> 1) + OriginShard.seenNumber] || this.saysMore(component)) return false;
    return memory[Header.relays] === 0 || version <= numbers[(state >>> 1) + OriginShard.acknowledgedNumber];
  }

  /** Whether a component says more than its generation: a reset, or a floor. */
  saysMore(component: number): boolean {
    return this.attachments.find(component, Kind.floor) !== 0 || this.attachments.find(component, Kind.cancel) !== 0;
  }

  /** Whether a component says nothing at all any more: its generation is over, and everything said about others was taken back. */
  isSilent(component: number): boolean {
    return !isPresent(this.store.memory, component) && !this.saysMore(component);
  }

  recordedFloor(component: number): number {
    const attachment = this.attachments.find(component, Kind.floor);
    return attachment === 0 ? 0 : this.attachments.numberAt(attachment, 2);
  }

  isForeignDead(component: number, floorMs: number): boolean {
    const expiresAt = this.expiresAt(component);
    return (expiresAt !== 0 && expiresAt <= this.clock.nowMs) || this.bornMs(component) < floorMs;
  }

  /** The date of a generation: its birth, or the floor that it has outlived. */
  bornMs(component: number): number {
    return Math.max(timeOfVersion(bornOf(this.store.memory, component)), this.recordedFloor(component));
  }

  /** Whether the own generation goes on by having outlived this floor: others may still hold one, or what it comes from. */
  hasOutlived(record: number, floorMs: number): boolean {
    const memory = this.store.memory;
    if (!isPresent(memory, record)) return false;
    if (floorMs > this.clock.nowMs - this.graceMs) return true;
    const born = timeOfVersion(bornOf(memory, record));
    if (born < this.passedDecision(record)) return true;
    for (let at = this.firstForeign(record); at !== 0; at = memory[at + Component.foreignSibling]) {
      if (born < this.recordedFloor(at)) return true;
    }
    return false;
  }

  /** How much of the component's present generation resets have observed; null where none has. */
  cancelled(record: number, component: number): { positive: bigint; negative: bigint } | null {
    const memory = this.store.memory;
    const origin = originIndexOf(memory, component);
    const born = bornOf(memory, component);
    let found: { positive: bigint; negative: bigint } | null = null;
    for (let holder = record; holder !== 0; holder = this.nextComponent(record, holder)) {
      for (let at = this.attachments.find(holder, Kind.cancel); at !== 0; at = this.attachments.nextOfKind(at)) {
        if (this.attachments.extraOf(at) !== origin || this.attachments.numberAt(at, 2) !== born) continue;
        const positive = joinUint64(memory[at + 5], memory[at + 4]);
        const negative = joinUint64(memory[at + 7], memory[at + 6]);
        if (found === null) found = { positive, negative };
        if (positive > found.positive) found.positive = positive;
        if (negative > found.negative) found.negative = negative;
      }
    }
    return found;
  }

  /** Whether a component of another origin holds a reset of some generation of this node. */
  cancelsOwn(component: number): boolean {
    for (let cancel = this.attachments.find(component, Kind.cancel); cancel !== 0; ) {
      if (this.attachments.extraOf(cancel) === OWN_ORIGIN) return true;
      cancel = this.attachments.nextOfKind(cancel);
    }
    return false;
  }

  /** All components of a key in turn: its record, then the foreign ones. */
  nextComponent(record: number, holder: number): number {
    return holder === record ? this.firstForeign(record) : this.store.memory[holder + Component.foreignSibling];
  }

  positiveOf(component: number): bigint {
    const memory = this.store.memory;
    return joinUint64(memory[component + Component.positiveHigh], memory[component + Component.positiveLow]);
  }

  negativeOf(component: number): bigint {
    const memory = this.store.memory;
    const attachment = this.attachments.find(component, Kind.negative);
    return attachment === 0 ? 0n : joinUint64(memory[attachment + 3], memory[attachment + 2]);
  }

  /** Whether resets have observed all of a generation; the owner then ends it, and to everybody else it is not there. */
  isWhollyCancelled(record: number, component: number): boolean {
    const cancelled = this.cancelled(record, component);
    if (cancelled === null) return false;
    return cancelled.positive >= this.positiveOf(component) && cancelled.negative >= this.negativeOf(component);
  }

  /** What the generation of one component adds to the key's value. */
  contribution(record: number, component: number): bigint {
    const cancelled = this.cancelled(record, component);
    const positive = this.positiveOf(component) - (cancelled?.positive ?? 0n);
    const negative = this.negativeOf(component) - (cancelled?.negative ?? 0n);
    return positive - negative;
  }

  /** The exact sum of everything but the own generation's P and N: foreign generations, and what was cancelled of the own. */
  foreignTotal(record: number): { total: bigint; generations: number; holdsUntilMs: number } {
    const memory = this.store.memory;
    const nowMs = this.clock.nowMs;
    const floor = this.floorMs(record);
    // Any expiry that passes may raise the floor, also that of a generation that does not count.
    let holdsUntilMs = this.expiresAt(record) > nowMs ? this.expiresAt(record) : Number.POSITIVE_INFINITY;
    let total = 0n;
    let generations = 0;
    for (let at = this.firstForeign(record); at !== 0; at = memory[at + Component.foreignSibling]) {
      const expiresAt = this.expiresAt(at);
      if (expiresAt > nowMs) holdsUntilMs = Math.min(holdsUntilMs, expiresAt);
      if (!isPresent(memory, at) || this.isForeignDead(at, floor) || this.isWhollyCancelled(record, at)) continue;
      generations++;
      total += this.contribution(record, at);
    }
    if (this.isOwnAlive(record)) {
      const cancelled = this.cancelled(record, record);
      if (cancelled !== null) total -= cancelled.positive - cancelled.negative;
    }
    return { total, generations, holdsUntilMs };
  }

  /** Brings the summary, the key-level expiry and the place in the wheel up to date after any change to the key. */
  refresh(shard: number, record: number): void {
    const memory = this.store.memory;
    const summary = this.attachments.find(record, Kind.summary);
    if (summary !== 0) {
      const { total, generations, holdsUntilMs } = this.foreignTotal(record);
      memory[summary + 3] = generations;
      memory[summary + 4] = lowHalf(total);
      memory[summary + 5] = highHalf(total);
      this.attachments.setNumberAt(summary, 6, holdsUntilMs);
      const isWide = total >= NARROW_LIMIT || total <= -NARROW_LIMIT;
      const flags = (isWide ? SummaryFlag.wide : 0) | (this.needsCare(record) ? SummaryFlag.careful : 0);
      this.attachments.setExtra(summary, flags);
    }
    this.rearm(shard, record);
  }

  /** Whether a component of the key holds a reset or a floor, or an expiry that has passed (SummaryFlag.careful). */
  needsCare(record: number): boolean {
    const memory = this.store.memory;
    for (let holder = record; holder !== 0; holder = this.nextComponent(record, holder)) {
      for (let at = memory[holder + Component.attachments]; at !== 0; at = memory[at]) {
        const kind = this.attachments.kindOf(at);
        if (kind === Kind.floor || kind === Kind.cancel) return true;
        if (kind !== Kind.expiry) continue;
        const expiresAt = this.attachments.numberAt(at, 2);
        if (expiresAt !== 0 && expiresAt <= this.clock.nowMs) return true;
      }
    }
    return false;
  }

  /**
   * When something of the key can be dropped for good: the earliest death among its generations, plus the grace. A death that
   * leaves something to keep is a change of what the summary holds, and the key must be counted anew.
   */
  readonly deadlineOf = (shard: number, record: number): number => {
    const memory = this.store.memory;
    const summary = this.attachments.find(record, Kind.summary);
    const holdsUntilMs = summary === 0 ? Number.POSITIVE_INFINITY : this.attachments.numberAt(summary, 6);
    let earliest = Math.min(this.expiresAt(record) || Number.POSITIVE_INFINITY, holdsUntilMs);
    const unpublished = this.attachments.find(record, Kind.unpublished);
    if (unpublished !== 0) earliest = Math.min(earliest, this.attachments.numberAt(unpublished, 4));
    for (let at = this.firstForeign(record); at !== 0; at = memory[at + Component.foreignSibling]) {
      const expiresAt = this.expiresAt(at);
      if (expiresAt !== 0 && this.isDroppable(shard, at)) earliest = Math.min(earliest, expiresAt);
    }
    return earliest + this.graceMs;
  };

  get graceMs(): number {
    return this.store.numbers[Header.graceMsNumber];
  }

  /** Brings the place in the wheel up to date: what can be dropped has changed, what a reader sees has not. */
  rearm(shard: number, record: number): void {
    const deadline = this.deadlineOf(shard, record);
    let attachment = this.attachments.find(record, Kind.expiry);
    if (deadline === Number.POSITIVE_INFINITY) {
      if (attachment === 0) return;
      this.wheel.disarm(shard, record);
      // What is left is a decision worth keeping (PERSIST) only if the own generation made it.
      if (this.decidedAt(record) === 0) this.attachments.drop(shard, record, attachment);
      return;
    }
    // The wheel's links are in an expiry attachment; a key that is only due because of others gets one that says nothing.
    if (attachment === 0) attachment = this.attachments.add(shard, record, Kind.expiry);
    if (attachment !== 0) this.wheel.arm(shard, record, deadline);
  }
}
