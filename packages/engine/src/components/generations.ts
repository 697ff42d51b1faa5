import {
  type Attachments,
  CancelNumber,
  CancelWord,
  ExpiryNumber,
  FloorNumber,
  Kind,
  NegativeWord,
  SummaryFlag,
  SummaryNumber,
  SummaryWord,
  UnpublishedNumber,
} from '../memory/attachments.js';
import type { Clock } from '../memory/clock.js';
import { setInt64At, uint64At } from '../memory/int64.js';
import { HeaderNumber, HeaderWord, OriginShardNumber, OWN_ORIGIN } from '../memory/layout.js';
import { linkAt } from '../memory/link.js';
import { bornOf, Component, isPresent, originIndexOf, timeOfVersion, versionOf } from '../memory/record.js';
import type { Store } from '../memory/store.js';
import type { Wheel } from './wheel.js';

/**
 * Which generations of a key count, and their sum. A pure function of the key's components and the time, so that
 * replicas that hold the same components agree:
 *
 *   expiry     set last on the key: the greatest (decided, expires at) among its components. In force is the last one
 *              that has not passed.
 *   floor      the greatest floor among its components, or the latest time that has passed of the expiries set after
 *              the one in force, if later.
 *   dead       a generation whose own expiry has passed, or that was born before the floor and has not outlived it: an
 *              owner that learns of the floor too late puts the floor on record in its own component.
 *   cancelled  a generation that a reset has observed whole; where it observed a part, that part does not count.
 *   value      Σ P − Σ N over the generations that are present and not dead, less the parts that resets have observed.
 *
 * An owner takes over a newer expiry as soon as it learns of it (merge.ts), so the expiry of the own generation is
 * always the key's. Reading a key that only this node ever touched needs none of this: no summary, no work.
 *
 * The result for the other origins is kept in the key's summary, with the time until which it holds.
 */

/** Sums beyond this are worked out exactly and clamped to 64 bits when read; no real counter gets there. */
const NARROW_LIMIT = 1n << 62n;

export class Generations {
  private readonly store: Store;
  private readonly clock: Clock;
  private readonly wheel: Wheel;
  private readonly memory: Int32Array;
  private readonly attachments: Attachments;

  constructor(store: Store, clock: Clock, wheel: Wheel) {
    this.store = store;
    this.clock = clock;
    this.wheel = wheel;
    this.memory = store.memory;
    this.attachments = store.attachments;
  }

  firstForeign(record: number): number {
    const summary = this.attachments.find(record, Kind.summary);
    return summary === 0 ? 0 : linkAt(this.memory, summary + SummaryWord.firstForeign);
  }

  findForeign(record: number, origin: number): number {
    let at = this.firstForeign(record);
    while (at !== 0 && originIndexOf(this.memory, at) !== origin)
      at = linkAt(this.memory, at + Component.foreignSibling);
    return at;
  }

  /** The component of an origin, own or foreign; 0 = none. An own one that never changed has version 0. */
  componentOf(record: number, origin: number): number {
    return record === 0 || origin === OWN_ORIGIN ? record : this.findForeign(record, origin);
  }

  /** When the generation of a component expires, ms; 0 = never, or the component has no present generation. */
  expiresAt(component: number): number {
    return this.expiryNumber(component, ExpiryNumber.expiresAtMs);
  }

  /** The version that set a generation's expiry; 0 = none was set. */
  decidedAt(component: number): number {
    return this.expiryNumber(component, ExpiryNumber.decided);
  }

  private expiryNumber(component: number, field: number): number {
    if (!isPresent(this.memory, component)) return 0;
    const attachment = this.attachments.find(component, Kind.expiry);
    return attachment === 0 ? 0 : this.attachments.numberAt(attachment, field);
  }

  isOwnAlive(record: number): boolean {
    if (!isPresent(this.memory, record)) return false;
    const expiresAt = this.expiresAt(record);
    return expiresAt === 0 || expiresAt > this.clock.nowMs;
  }

  /** The component that holds the expiry in force: the one set last among those that have not passed; 0 = none. */
  expiryInForce(record: number): number {
    return this.latestExpiry(record, this.clock.nowMs);
  }

  /** The component whose expiry was set last, among those that pass after this time; 0 = none. */
  private latestExpiry(record: number, afterMs: number): number {
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

  /** The version that set the key's expiry last, as far as this node knows; 0 = none. */
  latestDecision(record: number): number {
    const latest = this.latestExpiry(record, Number.NEGATIVE_INFINITY);
    return latest === 0 ? 0 : this.decidedAt(latest);
  }

  /** Whether another origin holds an expiry of this key that is not over yet. */
  othersDecided(record: number): boolean {
    for (let at = this.firstForeign(record); at !== 0; at = linkAt(this.memory, at + Component.foreignSibling)) {
      if (this.expiresAt(at) > this.clock.nowMs) return true;
    }
    return false;
  }

  /** Generations of the key born before this time are dead. */
  floorMs(record: number): number {
    return Math.max(this.passedDecision(record), this.greatestRecordedFloor(record));
  }

  /** The latest time that has passed of the expiries set after the one in force; 0 = none. */
  private passedDecision(record: number): number {
    const inForce = this.expiryInForce(record);
    const ruling = inForce === 0 ? 0 : this.decidedAt(inForce);
    let passed = 0;
    for (let at = record; at !== 0; at = this.nextComponent(record, at)) {
      const expiresAt = this.expiresAt(at);
      if (expiresAt > passed && expiresAt <= this.clock.nowMs && this.decidedAt(at) > ruling) passed = expiresAt;
    }
    return passed;
  }

  private greatestRecordedFloor(record: number): number {
    let floor = 0;
    for (let at = record; at !== 0; at = this.nextComponent(record, at)) {
      floor = Math.max(floor, this.recordedFloor(at));
    }
    return floor;
  }

  /** Whether a foreign generation ends by this floor, not by its own expiry: without the floor it would come back. */
  needsFloor(record: number, floorMs: number): boolean {
    const memory = this.memory;
    for (let at = this.firstForeign(record); at !== 0; at = linkAt(memory, at + Component.foreignSibling)) {
      if (!isPresent(memory, at) || this.bornMs(at) >= floorMs) continue;
      const expiresAt = this.expiresAt(at);
      if (expiresAt === 0 || expiresAt > floorMs) return true;
    }
    return false;
  }

  /** Whether a foreign component can be dropped for good: its own expiry had passed at the horizon. */
  isOver(shard: number, component: number, horizonMs: number): boolean {
    const expiresAt = this.expiresAt(component);
    return expiresAt !== 0 && expiresAt <= horizonMs && this.isDroppable(shard, component);
  }

  /**
   * Whether only its generation would be lost with a foreign component. Above the watermark the component also says
   * that older states of it, still under way, are superseded; and a peer that has not seen it learns from it when it
   * expires.
   */
  private isDroppable(shard: number, component: number): boolean {
    const { memory, numbers } = this.store;
    const state = this.store.originShardAt(originIndexOf(memory, component), shard);
    const version = versionOf(memory, component);
    if (version > numbers[(state >>> 1) + OriginShardNumber.seen]) return false;
    if (this.attachments.hasResetOrFloor(component)) return false;
    return memory[HeaderWord.relays] === 0 || version <= numbers[(state >>> 1) + OriginShardNumber.acknowledged];
  }

  recordedFloor(component: number): number {
    const attachment = this.attachments.find(component, Kind.floor);
    return attachment === 0 ? 0 : this.attachments.numberAt(attachment, FloorNumber.floorMs);
  }

  isForeignDead(component: number, floorMs: number): boolean {
    const expiresAt = this.expiresAt(component);
    return (expiresAt !== 0 && expiresAt <= this.clock.nowMs) || this.bornMs(component) < floorMs;
  }

  /** The date of a generation: its birth, or the floor that it has outlived. */
  bornMs(component: number): number {
    return Math.max(timeOfVersion(bornOf(this.memory, component)), this.recordedFloor(component));
  }

  /**
   * Whether the own generation goes on because it outlived this floor: other replicas may still hold the floor or its
   * cause.
   */
  hasOutlived(record: number, floorMs: number): boolean {
    const memory = this.memory;
    if (!isPresent(memory, record)) return false;
    if (floorMs > this.clock.nowMs - this.graceMs) return true;
    const born = timeOfVersion(bornOf(memory, record));
    if (born < this.passedDecision(record)) return true;
    for (let at = this.firstForeign(record); at !== 0; at = linkAt(memory, at + Component.foreignSibling)) {
      if (born < this.recordedFloor(at)) return true;
    }
    return false;
  }

  /** The part of a component's present generation that resets have observed; null where none has. */
  cancelled(record: number, component: number): { positive: bigint; negative: bigint } | null {
    const memory = this.memory;
    const origin = originIndexOf(memory, component);
    const born = bornOf(memory, component);
    let found: { positive: bigint; negative: bigint } | null = null;
    for (let holder = record; holder !== 0; holder = this.nextComponent(record, holder)) {
      for (let at = this.findCancel(holder, origin); at !== 0; at = this.nextCancel(at)) {
        if (this.attachments.numberAt(at, CancelNumber.born) !== born) continue;
        const positive = uint64At(memory, at + CancelWord.positiveLow);
        const negative = uint64At(memory, at + CancelWord.negativeLow);
        if (found === null) found = { positive, negative };
        if (positive > found.positive) found.positive = positive;
        if (negative > found.negative) found.negative = negative;
      }
    }
    return found;
  }

  /** The first reset of a generation of that origin that a component holds, or 0. */
  findCancel(component: number, origin: number): number {
    let at = this.attachments.find(component, Kind.cancel);
    while (at !== 0 && this.attachments.extraOf(at) !== origin) at = this.attachments.nextOfKind(at);
    return at;
  }

  /** The next one of the same origin, or 0. */
  nextCancel(cancel: number): number {
    const origin = this.attachments.extraOf(cancel);
    let at = this.attachments.nextOfKind(cancel);
    while (at !== 0 && this.attachments.extraOf(at) !== origin) at = this.attachments.nextOfKind(at);
    return at;
  }

  /** All components of a key in turn: its record, then the foreign ones. */
  nextComponent(record: number, component: number): number {
    return component === record ? this.firstForeign(record) : linkAt(this.memory, component + Component.foreignSibling);
  }

  positiveOf(component: number): bigint {
    return uint64At(this.memory, component + Component.positiveLow);
  }

  negativeOf(component: number): bigint {
    const attachment = this.attachments.find(component, Kind.negative);
    return attachment === 0 ? 0n : uint64At(this.memory, attachment + NegativeWord.low);
  }

  /** Whether resets have observed all of a generation; its owner then ends it, and no replica counts it. */
  isWhollyCancelled(record: number, component: number): boolean {
    const cancelled = this.cancelled(record, component);
    if (cancelled === null) return false;
    return cancelled.positive >= this.positiveOf(component) && cancelled.negative >= this.negativeOf(component);
  }

  /** The part of the key's value that the generation of one component adds. */
  contribution(record: number, component: number): bigint {
    const cancelled = this.cancelled(record, component);
    const positive = this.positiveOf(component) - (cancelled?.positive ?? 0n);
    const negative = this.negativeOf(component) - (cancelled?.negative ?? 0n);
    return positive - negative;
  }

  /** The exact sum of foreign generations, less the cancelled part of the own one. */
  foreignTotal(record: number): { total: bigint; generations: number; holdsUntilMs: number } {
    const memory = this.memory;
    const nowMs = this.clock.nowMs;
    const floor = this.floorMs(record);
    // Any expiry that passes may raise the floor, also that of a generation that does not count.
    let holdsUntilMs = this.expiresAt(record) > nowMs ? this.expiresAt(record) : Number.POSITIVE_INFINITY;
    let total = 0n;
    let generations = 0;
    for (let at = this.firstForeign(record); at !== 0; at = linkAt(memory, at + Component.foreignSibling)) {
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
    const summary = this.attachments.find(record, Kind.summary);
    if (summary !== 0) {
      const { total, generations, holdsUntilMs } = this.foreignTotal(record);
      this.memory[summary + SummaryWord.generations] = generations;
      setInt64At(this.memory, summary + SummaryWord.totalLow, total);
      this.attachments.setNumberAt(summary, SummaryNumber.holdsUntilMs, holdsUntilMs);
      const isWide = total >= NARROW_LIMIT || total <= -NARROW_LIMIT;
      const flags = (isWide ? SummaryFlag.wide : 0) | (this.needsCare(record) ? SummaryFlag.careful : 0);
      this.attachments.setExtra(summary, flags);
    }
    this.rearm(shard, record);
  }

  /** Whether a component of the key holds a reset or a floor, or an expiry that has passed (SummaryFlag.careful). */
  needsCare(record: number): boolean {
    for (let at = record; at !== 0; at = this.nextComponent(record, at)) {
      if (this.attachments.hasResetOrFloor(at)) return true;
      const expiry = this.attachments.find(at, Kind.expiry);
      const expiresAt = expiry === 0 ? 0 : this.attachments.numberAt(expiry, ExpiryNumber.expiresAtMs);
      if (expiresAt !== 0 && expiresAt <= this.clock.nowMs) return true;
    }
    return false;
  }

  /**
   * When a part of the key can be dropped for good: the earliest death among its generations, plus the grace. A death
   * after which the component stays changes the summary, and the key must be counted anew.
   */
  readonly deadlineOf = (shard: number, record: number): number => {
    const memory = this.memory;
    const summary = this.attachments.find(record, Kind.summary);
    const holdsUntilMs =
      summary === 0 ? Number.POSITIVE_INFINITY : this.attachments.numberAt(summary, SummaryNumber.holdsUntilMs);
    let earliest = Math.min(this.expiresAt(record) || Number.POSITIVE_INFINITY, holdsUntilMs);
    const unpublished = this.attachments.find(record, Kind.unpublished);
    if (unpublished !== 0)
      earliest = Math.min(earliest, this.attachments.numberAt(unpublished, UnpublishedNumber.untilMs));
    for (let at = this.firstForeign(record); at !== 0; at = linkAt(memory, at + Component.foreignSibling)) {
      const expiresAt = this.expiresAt(at);
      if (expiresAt !== 0 && this.isDroppable(shard, at)) earliest = Math.min(earliest, expiresAt);
    }
    return earliest + this.graceMs;
  };

  get graceMs(): number {
    return this.store.numbers[HeaderNumber.graceMs];
  }

  /** Brings the key's place in the wheel up to date, where its deadline may have changed and its value has not. */
  rearm(shard: number, record: number): void {
    const deadline = this.deadlineOf(shard, record);
    let attachment = this.attachments.find(record, Kind.expiry);
    if (deadline === Number.POSITIVE_INFINITY) {
      if (attachment === 0) return;
      this.wheel.disarm(shard, record);
      // The attachment stays only where the own generation set an expiry or removed one (PERSIST).
      if (this.decidedAt(record) === 0) this.attachments.drop(shard, record, attachment);
      return;
    }
    // The wheel's links are in an expiry attachment; a key that is due only because of other origins gets an empty one.
    if (attachment === 0) attachment = this.attachments.add(shard, record, Kind.expiry);
    if (attachment !== 0) this.wheel.arm(shard, record, deadline);
  }
}
