import { MAX_BATCH_ITEMS, MAX_QUEUED_CHANGES, MAX_RUN_CHANGES } from './bounds.js';
import type { PendingChange } from './pending-change.js';
import { runLength } from './run.js';

/** Changes that go to the database together, grouped by item; each group is short enough to be one run. */
export interface Batch {
  /** Keyed changes go in a transaction of their own kind: their keys are claimed before anything is applied. */
  readonly keyed: boolean;
  readonly groups: readonly Group[];
}

/** Consecutive changes of one item. */
export type Group = readonly PendingChange[];

interface ItemQueue {
  readonly itemId: string;
  waiting: PendingChange[];
  inFlight: boolean;
  /** After a group could not be applied as a whole, the next ones are at most this long. */
  groupLimit: number;
  /** Its row was found locked by a stranger; it must not hold up a batch again. */
  suspect: boolean;
}

/**
 * Waiting changes, in order for each item. An item is in at most one batch at a time, so its changes reach the database in
 * the order in which they came, and instances never wait for their own row locks. Knows nothing of databases or clocks.
 */
export class ChangeQueue {
  readonly #items = new Map<string, ItemQueue>();
  /** Items with something to send and nothing in flight, by the kind of their first waiting change. */
  readonly #ready = { plain: new Set<ItemQueue>(), keyed: new Set<ItemQueue>() };
  #size = 0;
  #keyedTurn = false;

  /** Nothing waits and nothing is in flight. */
  get isEmpty(): boolean {
    return this.#items.size === 0;
  }

  get isFull(): boolean {
    return this.#size >= MAX_QUEUED_CHANGES;
  }

  /** Items that could be sent now. */
  get readyItems(): number {
    return this.#ready.plain.size + this.#ready.keyed.size;
  }

  push(pending: PendingChange): void {
    let item = this.#items.get(pending.itemId);
    if (item === undefined) {
      item = { itemId: pending.itemId, waiting: [], inFlight: false, groupLimit: MAX_RUN_CHANGES, suspect: false };
      this.#items.set(pending.itemId, item);
    }
    item.waiting.push(pending);
    this.#size++;
    if (!item.inFlight && item.waiting.length === 1) this.#readySet(item).add(item);
  }

  /** The next batch. Plain and keyed changes take turns when both wait. */
  take(): Batch | undefined {
    const { plain, keyed } = this.#ready;
    if (plain.size === 0 && keyed.size === 0) return undefined;
    const takeKeyed = plain.size === 0 || (keyed.size > 0 && this.#keyedTurn);
    this.#keyedTurn = !takeKeyed;
    const ready = takeKeyed ? keyed : plain;
    const groups: PendingChange[][] = [];
    for (const item of ready) {
      ready.delete(item);
      groups.push(this.#takeGroup(item, takeKeyed));
      if (groups.length === MAX_BATCH_ITEMS) break;
    }
    return { keyed: takeKeyed, groups };
  }

  /** These groups are no longer in flight. Changes in `unsent` go back to the front of their items, in order. */
  release(groups: readonly Group[], unsent: ReadonlySet<PendingChange>): void {
    for (const group of groups) {
      const item = this.#items.get(group[0]!.itemId)!;
      const returning = unsent.size === 0 ? [] : group.filter((pending) => unsent.has(pending));
      item.inFlight = false;
      if (returning.length === 0) item.groupLimit = Math.min(item.groupLimit * 2, MAX_RUN_CHANGES);
      else item.waiting = returning.concat(item.waiting);
      this.#size += returning.length;
      if (item.waiting.length === 0) this.#items.delete(item.itemId);
      else this.#readySet(item).add(item);
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

  /** Takes out everything whose deadline has passed. What is in flight stays until its batch is released. */
  takeExpired(nowMs: number): PendingChange[] {
    const expired: PendingChange[] = [];
    for (const item of this.#items.values()) {
      if (item.waiting.length === 0 || item.waiting.every((pending) => pending.deadlineMs > nowMs)) continue;
      this.#ready.plain.delete(item);
      this.#ready.keyed.delete(item);
      expired.push(...item.waiting.filter((pending) => pending.deadlineMs <= nowMs));
      item.waiting = item.waiting.filter((pending) => pending.deadlineMs > nowMs);
      if (item.inFlight) continue;
      if (item.waiting.length === 0) this.#items.delete(item.itemId);
      else this.#readySet(item).add(item);
    }
    this.#size -= expired.length;
    return expired;
  }

  #takeGroup(item: ItemQueue, keyed: boolean): PendingChange[] {
    item.inFlight = true;
    if (item.waiting.length === 1) {
      const group = item.waiting;
      item.waiting = [];
      this.#size--;
      return group;
    }
    const otherKind = item.waiting.findIndex((pending) => (pending.request !== undefined) !== keyed);
    const sameKind = otherKind === -1 ? item.waiting : item.waiting.slice(0, otherKind);
    const length = runLength(sameKind, item.groupLimit);
    const group = item.waiting.slice(0, length);
    item.waiting = length === item.waiting.length ? [] : item.waiting.slice(length);
    this.#size -= length;
    return group;
  }

  #readySet(item: ItemQueue): Set<ItemQueue> {
    return item.waiting[0]!.request === undefined ? this.#ready.plain : this.#ready.keyed;
  }
}
