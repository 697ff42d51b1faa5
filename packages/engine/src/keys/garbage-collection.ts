import { Kind } from '../memory/attachments.js';
import { OriginShardNumber, OWN_ORIGIN, ShardNumber } from '../memory/layout.js';
import { linkAt } from '../memory/link.js';
import { bornOf, Component, versionOf } from '../memory/record.js';
import type { Engine } from './engine.js';

/** Components looked at under one hold of a shard's lock, where there can be many: some tens of microseconds. */
const VISITS_AT_ONCE = 512;

/**
 * Drops components, floors and resets that are no longer needed, up to the version that every peer and the disk have
 * acknowledged: a component that is empty, a floor and a reset that no generation depends on. acknowledgements.ts says
 * which peers and disks count.
 */
export class GarbageCollection {
  private readonly engine: Engine;

  constructor(engine: Engine) {
    this.engine = engine;
  }

  /**
   * Every peer and the disk hold this node's changes of a shard up to this version; Infinity where there are none. A
   * removed key's empty component is dropped then: all of them know of the removal.
   */
  acknowledge(shardIndex: number, version: number): void {
    const { ownGeneration, records, store } = this.engine;
    const { attachments, numbers } = store;
    const shard = store.shardAt(shardIndex);
    const upTo = Math.min(version, this.engine.seen(shardIndex, OWN_ORIGIN));
    const collectedAt = (shard >>> 1) + ShardNumber.collected;
    const own = store.originShardAt(OWN_ORIGIN, shard);
    let isWhole = false;
    while (!isWhole) {
      this.engine.withShard(shard, () => {
        numbers[(shard >>> 1) + ShardNumber.acknowledged] = version;
        const from = numbers[collectedAt];
        if (this.hasEnded(shard, from)) {
          numbers[collectedAt] = this.visitRange(own, from, upTo, (at) => {
            if (attachments.isEmpty(at)) records.dropOwn(shard, at);
            else if (!ownGeneration.collectFloor(shard, at)) return;
            records.refreshKey(shard, at);
          });
        } else {
          numbers[collectedAt] = upTo;
        }
        isWhole = numbers[collectedAt] >= upTo;
      });
    }
  }

  /** Whether an own component changed behind this version may be empty, or may have a floor to drop. */
  private hasEnded(shard: number, from: number): boolean {
    const { attachments, numbers } = this.engine.store;
    return numbers[(shard >>> 1) + ShardNumber.ended] > from || attachments.countOf(shard, Kind.floor) > 0;
  }

  /** Up to which version every peer has acknowledged another origin's changes; takes the state of (origin, shard). */
  acknowledgedOther(state: number): number {
    if (!this.engine.isRelaying) return Number.POSITIVE_INFINITY;
    return this.engine.store.numbers[(state >>> 1) + OriginShardNumber.acknowledged];
  }

  /** Every peer has seen another origin's changes of a shard up to this version: components it ended can be dropped. */
  acknowledgeOther(shardIndex: number, origin: number, version: number): void {
    const { generations, ownGeneration, records, store } = this.engine;
    const { attachments, memory, numbers } = store;
    const shard = store.shardAt(shardIndex);
    const state = store.originShardAt(origin, shard);
    const acknowledgedAt = (state >>> 1) + OriginShardNumber.acknowledged;
    const upTo = Math.min(version, numbers[(state >>> 1) + OriginShardNumber.seen]);
    while (numbers[acknowledgedAt] < upTo) {
      this.engine.withShard(shard, () => {
        const from = numbers[acknowledgedAt];
        const hasEnded = numbers[(shard >>> 1) + ShardNumber.othersEnded] > from;
        if (!hasEnded && attachments.countOf(shard, Kind.cancel) + attachments.countOf(shard, Kind.expiry) === 0) {
          numbers[acknowledgedAt] = upTo;
          return;
        }
        numbers[acknowledgedAt] = this.visitRange(state, from, upTo, (at) => {
          const record = linkAt(memory, at + Component.foreignKey);
          ownGeneration.collectCancel(shard, record, origin, bornOf(memory, at));
          if (attachments.isEmpty(at)) {
            records.collectForeign(shard, record, at);
            records.refreshKey(shard, record);
          } else if (attachments.find(at, Kind.expiry) !== 0) {
            // From here on it may be dropped when its time is over, or at once.
            numbers[acknowledgedAt] = versionOf(memory, at);
            generations.rearm(shard, record);
          }
        });
      });
    }
  }

  /**
   * A watermark moved from `before` to `seen`. Older states of the components between are superseded by the watermark
   * alone: empty components are dropped, and expired ones may be from here on.
   */
  passWatermark(shard: number, state: number, before: number, seen: number): void {
    const { lists, records, store } = this.engine;
    const { attachments, memory, numbers } = store;
    const hasEnded = numbers[(shard >>> 1) + ShardNumber.othersEnded] > before;
    if (seen <= before || (!hasEnded && attachments.countOf(shard, Kind.expiry) === 0)) return;
    const acknowledged = this.acknowledgedOther(state);
    for (let at = lists.firstAfter(state, before); at !== 0 && versionOf(memory, at) <= seen; ) {
      const next = linkAt(memory, at + Component.next);
      const record = linkAt(memory, at + Component.foreignKey);
      const isDropped = attachments.isEmpty(at) && versionOf(memory, at) <= acknowledged;
      if (isDropped) records.collectForeign(shard, record, at);
      if (isDropped || attachments.find(at, Kind.expiry) !== 0) records.refreshKey(shard, record);
      at = next;
    }
  }

  /**
   * Visits the components of a list in a range of versions, oldest first, at most as many as a lane can wait for;
   * returns the version up to which all were visited. A visit may take the component out of the list.
   */
  private visitRange(state: number, from: number, upTo: number, visit: (component: number) => void): number {
    const { lists, store } = this.engine;
    const { memory } = store;
    let reached = from;
    let at = lists.firstAfterCursor(state, from);
    for (let left = VISITS_AT_ONCE; left > 0 && at !== 0 && versionOf(memory, at) <= upTo; left--) {
      const next = linkAt(memory, at + Component.next);
      reached = versionOf(memory, at);
      visit(at);
      at = next;
    }
    const isWhole = at === 0 || versionOf(memory, at) > upTo;
    lists.moveCursor(state, from, isWhole ? 0 : linkAt(memory, at + Component.previous));
    return isWhole ? upTo : reached;
  }
}
