import { MAX_KNOWN_ITEMS, MAX_QUEUED_CHANGES, MAX_RUN_CHANGES, MAX_WRITE_ITEMS } from './bounds.js';
import type { PendingChange } from './pending-change.js';
import { runLength } from './run.js';

/** Changes that one statement writes together, grouped by item; each group is short enough to be one run. */
export interface GroupedWrite {
  /** Keyed changes go in a transaction of their own kind: their keys are claimed before anything is applied. */
  readonly keyed: boolean;
  readonly groups: readonly Group[];
}

/** Consecutive changes of one item. */
export type Group = readonly PendingChange[];

interface ItemQueue {
  readonly itemId: string;
  waiting: readonly PendingChange[];
  inFlight: boolean;
  /** The list in which it waits for its turn, if it has something to send and nothing in flight. */
  readyIn: ReadyList | undefined;
  /** After a group could not be applied as a whole, the next ones are at most this long. */
  groupLimit: number;
  /** Its row was found locked by another session; it must not hold up a write again. */
  suspect: boolean;
}

/**
 * What an idle item has waiting. An array of its own would be old by the time it is used, and V8 takes everything that
 * was ever reached from something old for alive until its next full collection.
 */
const NOTHING: readonly PendingChange[] = [];

/** Items in the order in which they became ready. Those that have left it meanwhile are passed over. */
class ReadyList {
  #items: ItemQueue[] = [];
  #first = 0;
  size = 0;

  add(item: ItemQueue): void {
    item.readyIn = this;
    this.#items.push(item);
    this.size++;
  }

  leave(item: ItemQueue): void {
    item.readyIn = undefined;
    this.size--;
  }

  next(): ItemQueue | undefined {
    while (this.#first < this.#items.length) {
      const item = this.#items[this.#first++]!;
      if (item.readyIn !== this) continue;
      this.leave(item);
      return item;
    }
    this.#items = [];
    this.#first = 0;
    return undefined;
  }
}

/**
 * Waiting changes, in order for each item. An item is in at most one write at a time, so its changes reach the database
 * in the order in which they came, and instances never wait for their own row locks. Knows nothing of databases or
 * clocks.
 *
 * Items stay known when they have nothing to do, up to a bound: entries that come and go with every request would make
 * the map rebuild itself a hundred times a second.
 */
export class ChangeQueue {
  readonly #items = new Map<string, ItemQueue>();
  /** Items that can be written, by the kind of their first waiting change. */
  readonly #ready = { plain: new ReadyList(), keyed: new ReadyList() };
  #size = 0;
  #itemsInFlight = 0;
  #keyedTurn = false;

  /** Nothing waits and nothing is in flight. */
  get isEmpty(): boolean {
    return this.#size === 0 && this.#itemsInFlight === 0;
  }

  get isFull(): boolean {
    return this.#size >= MAX_QUEUED_CHANGES;
  }

  /** Changes that wait. */
  get size(): number {
    return this.#size;
  }

  /** Items that could be sent now. */
  get readyItems(): number {
    return this.#ready.plain.size + this.#ready.keyed.size;
  }

  push(pending: PendingChange): void {
    const item = this.#items.get(pending.itemId) ?? this.#addItem(pending.itemId);
    if (item.waiting === NOTHING) item.waiting = [pending];
    else (item.waiting as PendingChange[]).push(pending);
    this.#size++;
    if (!item.inFlight && item.waiting.length === 1) this.#makeReady(item);
  }

  /** The next write. Plain and keyed changes take turns when both wait. */
  take(): GroupedWrite | undefined {
    const { plain, keyed } = this.#ready;
    if (plain.size === 0 && keyed.size === 0) return undefined;
    const takeKeyed = plain.size === 0 || (keyed.size > 0 && this.#keyedTurn);
    this.#keyedTurn = !takeKeyed;
    const ready = takeKeyed ? keyed : plain;
    const groups: Group[] = [];
    while (groups.length < MAX_WRITE_ITEMS) {
      const item = ready.next();
      if (item === undefined) break;
      groups.push(this.#takeGroup(item, takeKeyed));
    }
    return { keyed: takeKeyed, groups };
  }

  /** These groups are no longer in flight. Changes in `unsent` go back to the front of their items, in order. */
  release(groups: readonly Group[], unsent: ReadonlySet<PendingChange>): void {
    for (const group of groups) {
      const item = this.#items.get(group[0]!.itemId)!;
      const returning = unsent.size === 0 ? [] : group.filter((pending) => unsent.has(pending));
      item.inFlight = false;
      this.#itemsInFlight--;
      if (returning.length === 0) item.groupLimit = Math.min(item.groupLimit * 2, MAX_RUN_CHANGES);
      else item.waiting = returning.concat(item.waiting);
      this.#size += returning.length;
      if (item.waiting.length > 0) this.#makeReady(item);
    }
  }

  /** Makes the item's next groups half as long as this one: how the change that spoils a group is found. */
  halve(group: Group): void {
    const item = this.#items.get(group[0]!.itemId)!;
    item.groupLimit = Math.max(1, group.length >> 1);
  }

  suspect(group: Group, suspect: boolean): void {
    this.#items.get(group[0]!.itemId)!.suspect = suspect;
  }

  isSuspect(group: Group): boolean {
    return this.#items.get(group[0]!.itemId)!.suspect;
  }

  /** Takes out everything whose deadline has passed. Changes in flight stay until their write is released. */
  takeExpired(nowMs: number): PendingChange[] {
    const expired: PendingChange[] = [];
    for (const item of this.#items.values()) {
      if (item.waiting.length === 0 || item.waiting.every((pending) => pending.deadlineMs > nowMs)) continue;
      item.readyIn?.leave(item);
      expired.push(...item.waiting.filter((pending) => pending.deadlineMs <= nowMs));
      item.waiting = orNothing(item.waiting.filter((pending) => pending.deadlineMs > nowMs));
      if (!item.inFlight && item.waiting.length > 0) this.#makeReady(item);
    }
    this.#size -= expired.length;
    return expired;
  }

  #addItem(itemId: string): ItemQueue {
    if (this.#items.size >= MAX_KNOWN_ITEMS) this.#forgetIdleItems();
    const item: ItemQueue = {
      itemId,
      waiting: NOTHING,
      inFlight: false,
      readyIn: undefined,
      groupLimit: MAX_RUN_CHANGES,
      suspect: false,
    };
    this.#items.set(itemId, item);
    return item;
  }

  #forgetIdleItems(): void {
    for (const item of this.#items.values()) {
      if (!item.inFlight && item.waiting.length === 0) this.#items.delete(item.itemId);
    }
  }

  #takeGroup(item: ItemQueue, keyed: boolean): Group {
    item.inFlight = true;
    this.#itemsInFlight++;
    if (item.waiting.length === 1) {
      const group = item.waiting;
      item.waiting = NOTHING;
      this.#size--;
      return group;
    }
    const otherKind = item.waiting.findIndex((pending) => (pending.request !== undefined) !== keyed);
    const sameKind = otherKind === -1 ? item.waiting : item.waiting.slice(0, otherKind);
    const length = runLength(sameKind, item.groupLimit);
    const group = item.waiting.slice(0, length);
    item.waiting = orNothing(item.waiting.slice(length));
    this.#size -= length;
    return group;
  }

  #makeReady(item: ItemQueue): void {
    const list = item.waiting[0]!.request === undefined ? this.#ready.plain : this.#ready.keyed;
    if (item.readyIn === list) return;
    item.readyIn?.leave(item);
    list.add(item);
  }
}

function orNothing(waiting: readonly PendingChange[]): readonly PendingChange[] {
  return waiting.length === 0 ? NOTHING : waiting;
}
