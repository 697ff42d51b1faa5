import { assert } from '../memory/assert.js';
import { CURSORS, OriginShardNumber, OriginShardWord, OWN_ORIGIN, ShardWord } from '../memory/layout.js';
import { linkAt } from '../memory/link.js';
import { Component, LAST_ADMITTED_VERSION, setVersion, versionOf } from '../memory/record.js';
import type { Store } from '../memory/store.js';
import { ChangeNotes } from './change-notes.js';
import type { Digests } from './digest.js';

const INITIAL_SCRATCH = 64;
/**
 * The log orders a list when this many components have come behind its ordered part: the next reader holds the
 * shard's lock for some milliseconds at most. Up to twice as many in the last shard, so that they do not come together.
 */
const UNORDERED = 16384;
const MAXIMUM_EXACT = 2 ** 53;

/**
 * The components of one (origin, shard), linked in version order. This list is the log: the changes that a peer has not
 * seen are the part behind its watermark, and a component that changed a thousand times is in there once.
 *
 * Order is made when the list is read. Components up to `ordered` are in version order; those changed since lie behind
 * them in any order, since the next walk will take them all. So a change moves its component only the first time after
 * a walk, and otherwise touches no neighbour: that is two cache misses less of about five.
 */
export class VersionLists {
  private readonly store: Store;
  private readonly digests: Digests;
  readonly notes: ChangeNotes;
  /** Own changes made through this view, wrapping: equal before and after means that there was none. */
  changes = 0;
  /** Scratch memory of `order`: components, and how much later than the ordered part they changed. */
  private changed = new Uint32Array(INITIAL_SCRATCH);
  private ages = new Float64Array(INITIAL_SCRATCH);

  constructor(store: Store, digests: Digests) {
    this.store = store;
    this.digests = digests;
    this.notes = new ChangeNotes(store);
  }

  /** Before an own component changes. Nothing may change between this and the stamp but that component. */
  beforeChange(ownState: number, component: number): void {
    const { memory, numbers } = this.store;
    if (numbers[(ownState >>> 1) + OriginShardNumber.digested] !== 0 && versionOf(memory, component) !== 0) {
      this.digests.exclude(ownState, component);
    }
  }

  /** Gives a changed own component the next version and moves it to the tail; returns the version. */
  stamp(shard: number, ownState: number, component: number, nowVersion: number): number {
    const { memory, numbers } = this.store;
    const seen = (ownState >>> 1) + OriginShardNumber.seen;
    const last = numbers[seen];
    const version = nowVersion > last ? nowVersion : last + 1;
    numbers[seen] = version;
    this.changes = (this.changes + 1) | 0;
    const old = versionOf(memory, component);
    this.notes.add(shard, component, old);
    if (
      old <= numbers[(ownState >>> 1) + OriginShardNumber.ordered] &&
      linkAt(memory, ownState + OriginShardWord.tail) !== component
    ) {
      if (old !== 0) this.unlink(ownState, component);
      this.append(ownState, component, linkAt(memory, ownState + OriginShardWord.tail));
      memory[shard + ShardWord.unordered]++;
    }
    setVersion(memory, component, version);
    return version;
  }

  /** The version that the next stamp will give. */
  nextVersion(shard: number, nowVersion: number): number {
    const last = this.store.numbers[(this.store.originShardAt(OWN_ORIGIN, shard) >>> 1) + OriginShardNumber.seen];
    return nowVersion > last ? nowVersion : last + 1;
  }

  /**
   * Makes the next version at least this one: a generation must not look older than a floor set by a clock ahead of
   * ours. Never so far that versions could leave their bits: the gate admits none above LAST_ADMITTED_VERSION.
   */
  raise(shard: number, version: number): void {
    const seen = (this.store.originShardAt(OWN_ORIGIN, shard) >>> 1) + OriginShardNumber.seen;
    const last = Math.min(version - 1, LAST_ADMITTED_VERSION);
    if (this.store.numbers[seen] < last) this.store.numbers[seen] = last;
  }

  /** The component of a list that has this version, or 0. Almost always a look at the tail. */
  withVersion(state: number, version: number): number {
    const memory = this.store.memory;
    this.order(state);
    let at = linkAt(memory, state + OriginShardWord.tail);
    while (at !== 0 && versionOf(memory, at) > version) at = linkAt(memory, at + Component.previous);
    return at !== 0 && versionOf(memory, at) === version ? at : 0;
  }

  /** Puts a component where its version belongs, almost always the tail. */
  insert(state: number, component: number): void {
    const { memory, numbers } = this.store;
    this.giveUpNotes(state);
    this.order(state);
    const version = versionOf(memory, component);
    let before = linkAt(memory, state + OriginShardWord.tail);
    while (before !== 0 && versionOf(memory, before) > version) before = linkAt(memory, before + Component.previous);
    assert(before === 0 || versionOf(memory, before) !== version, 'a version belongs to one component');
    this.append(state, component, before);
    if (linkAt(memory, state + OriginShardWord.tail) === component)
      numbers[(state >>> 1) + OriginShardNumber.ordered] = version;
    this.digests.includeIfCovered(state, component);
  }

  /** Whether a version is above those of all components of a list, which is in order. */
  isNewest(state: number, version: number): boolean {
    const { memory, numbers } = this.store;
    const ordered = numbers[(state >>> 1) + OriginShardNumber.ordered];
    const tail = linkAt(memory, state + OriginShardWord.tail);
    return version > ordered && (tail === 0 || versionOf(memory, tail) <= ordered);
  }

  /** The same as `insert` for the newest. */
  addNewest(state: number, component: number): void {
    const { memory, numbers } = this.store;
    this.giveUpNotes(state);
    this.append(state, component, linkAt(memory, state + OriginShardWord.tail));
    numbers[(state >>> 1) + OriginShardNumber.ordered] = versionOf(memory, component);
    this.digests.includeIfCovered(state, component);
  }

  /** Gives a foreign component that is in its list a version above all others there. */
  raiseTo(state: number, component: number, version: number): void {
    const { memory, numbers } = this.store;
    this.digests.exclude(state, component);
    const isOrdered = versionOf(memory, component) <= numbers[(state >>> 1) + OriginShardNumber.ordered];
    if (isOrdered && linkAt(memory, state + OriginShardWord.tail) !== component) {
      this.unlink(state, component);
      this.append(state, component, linkAt(memory, state + OriginShardWord.tail));
    }
    setVersion(memory, component, version);
  }

  /** Takes a component out of its list and its digest: it is dropped, or a newer one takes its place. */
  remove(state: number, component: number): void {
    const ownShard = this.store.shardOfOwn(state);
    if (ownShard !== 0) this.notes.remove(ownShard, component);
    this.digests.exclude(state, component);
    this.unlink(state, component);
  }

  private giveUpNotes(state: number): void {
    const ownShard = this.store.shardOfOwn(state);
    if (ownShard !== 0) this.notes.giveUp(ownShard);
  }

  /** The same as `order` for an own list, where that would soon take too long. */
  orderSometimes(shard: number, ownState: number): void {
    const { memory, shardCount } = this.store;
    const bound = UNORDERED * (1 + this.store.shardIndexOf(shard) / shardCount);
    if (memory[shard + ShardWord.unordered] < bound) return;
    memory[shard + ShardWord.unordered] = 0;
    this.order(ownState);
  }

  /**
   * Puts the components changed since the last walk in version order, before the list is read. Returns the first of
   * them; 0 where there is none, or that is not known.
   */
  order(state: number): number {
    const { memory, numbers } = this.store;
    const orderedAt = (state >>> 1) + OriginShardNumber.ordered;
    const ordered = numbers[orderedAt];
    let count = 0;
    let inOrder = true;
    let newest = 0;
    let before = linkAt(memory, state + OriginShardWord.tail);
    for (let last = Number.POSITIVE_INFINITY; before !== 0; before = linkAt(memory, before + Component.previous)) {
      const version = versionOf(memory, before);
      if (version <= ordered) break;
      if (version > last) inOrder = false;
      if (version > newest) newest = version;
      last = version;
      if (count === this.changed.length) this.growScratch();
      this.changed[count] = before;
      this.ages[count] = version - ordered;
      count++;
    }
    if (count === 0) return 0;
    if (!inOrder) this.relink(state, before, count, newest - ordered);
    numbers[orderedAt] = newest;
    return before === 0 ? linkAt(memory, state + OriginShardWord.head) : linkAt(memory, before + Component.next);
  }

  /** Links the `count` components in `changed` behind `before`, by age, the oldest first. */
  private relink(state: number, before: number, count: number, newestAge: number): void {
    const { memory } = this.store;
    const { changed, ages } = this;
    // A sort without a comparing function is many times faster: the place in `changed` goes into the low bits.
    const places = 2 ** (32 - Math.clz32(count));
    if (newestAge * places >= MAXIMUM_EXACT) {
      const inOrder = Array.from(changed.subarray(0, count)).sort(
        (a, b) => versionOf(memory, a) - versionOf(memory, b),
      );
      changed.set(inOrder);
      for (let index = 0; index < count; index++) ages[index] = index;
    } else {
      for (let index = 0; index < count; index++) ages[index] = ages[index] * places + index;
      ages.subarray(0, count).sort();
      for (let index = 0; index < count; index++) ages[index] %= places;
    }
    let at = before;
    for (let index = 0; index < count; index++) {
      const component = changed[ages[index]];
      memory[component + Component.previous] = at;
      if (at === 0) memory[state + OriginShardWord.head] = component;
      else memory[at + Component.next] = component;
      at = component;
    }
    memory[at + Component.next] = 0;
    memory[state + OriginShardWord.tail] = at;
  }

  private growScratch(): void {
    const changed = new Uint32Array(this.changed.length * 2);
    changed.set(this.changed);
    this.changed = changed;
    const ages = new Float64Array(this.ages.length * 2);
    ages.set(this.ages);
    this.ages = ages;
  }

  /** Everything newer than this lies behind it. */
  orderedTo(state: number): number {
    return this.store.numbers[(state >>> 1) + OriginShardNumber.ordered];
  }

  /** The first component behind a watermark, or 0. Searched from the end, where peers that keep up are. */
  firstAfter(state: number, watermark: number): number {
    const memory = this.store.memory;
    const ordered = this.orderedTo(state);
    const first = this.order(state);
    // A disk has all that was in order: those were the changes of its last walk.
    if (first !== 0 && watermark === ordered) return first;
    if (watermark === 0) return linkAt(memory, state + OriginShardWord.head);
    let after = 0;
    for (
      let at = linkAt(memory, state + OriginShardWord.tail);
      at !== 0;
      at = linkAt(memory, at + Component.previous)
    ) {
      if (versionOf(memory, at) <= watermark) break;
      after = at;
    }
    return after;
  }

  /**
   * The same for a walk that comes in parts: searched from where one of the last parts ended. Searching from the end
   * each time would cost the square of the list's length.
   */
  firstAfterCursor(state: number, watermark: number): number {
    const memory = this.store.memory;
    this.order(state);
    const cursor = this.nearestCursor(state, watermark);
    if (cursor === 0) return this.firstAfter(state, watermark);
    let after = linkAt(memory, linkAt(memory, cursor) + Component.next);
    while (after !== 0 && versionOf(memory, after) <= watermark) after = linkAt(memory, after + Component.next);
    return after;
  }

  /** A part that began at `from` ended with this component (0: the walk is over): moves the walk's cursor there. */
  moveCursor(state: number, from: number, component: number): void {
    const memory = this.store.memory;
    const cursor = this.nearestCursor(state, from);
    const isContinued = cursor !== 0 && versionOf(memory, linkAt(memory, cursor)) === from;
    if (isContinued) memory[cursor] = component;
    else if (component !== 0) memory[this.oldestCursor(state)] = component;
  }

  /** The address of the cursor that lies closest behind a watermark, or 0. */
  private nearestCursor(state: number, watermark: number): number {
    const memory = this.store.memory;
    let nearest = 0;
    let nearestVersion = 0;
    for (let at = state + OriginShardWord.cursors; at < state + OriginShardWord.cursors + CURSORS; at++) {
      const version = memory[at] === 0 ? 0 : versionOf(memory, linkAt(memory, at));
      if (version > watermark || version <= nearestVersion) continue;
      nearest = at;
      nearestVersion = version;
    }
    return nearest;
  }

  /** An unused cursor, or the one that is furthest behind: its walk has most likely been given up. */
  private oldestCursor(state: number): number {
    const memory = this.store.memory;
    let oldest = state + OriginShardWord.cursors;
    for (let at = oldest; at < state + OriginShardWord.cursors + CURSORS; at++) {
      if (memory[at] === 0) return at;
      if (versionOf(memory, linkAt(memory, at)) < versionOf(memory, linkAt(memory, oldest))) oldest = at;
    }
    return oldest;
  }

  private append(state: number, component: number, before: number): void {
    const memory = this.store.memory;
    const after = before === 0 ? linkAt(memory, state + OriginShardWord.head) : linkAt(memory, before + Component.next);
    memory[component + Component.previous] = before;
    memory[component + Component.next] = after;
    if (before === 0) memory[state + OriginShardWord.head] = component;
    else memory[before + Component.next] = component;
    if (after === 0) memory[state + OriginShardWord.tail] = component;
    else memory[after + Component.previous] = component;
  }

  private unlink(state: number, component: number): void {
    const memory = this.store.memory;
    const before = linkAt(memory, component + Component.previous);
    const after = linkAt(memory, component + Component.next);
    if (before === 0) memory[state + OriginShardWord.head] = after;
    else memory[before + Component.next] = after;
    if (after === 0) memory[state + OriginShardWord.tail] = before;
    else memory[after + Component.previous] = before;
    for (let at = state + OriginShardWord.cursors; at < state + OriginShardWord.cursors + CURSORS; at++) {
      if (linkAt(memory, at) === component) memory[at] = before;
    }
  }
}
