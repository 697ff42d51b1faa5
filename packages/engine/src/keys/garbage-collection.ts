import { Kind } from '../memory/attachments.js';
import { OriginShard, OWN_ORIGIN, Shard } from '../memory/layout.js';
import { bornOf, Component, versionOf } from '../memory/record.js';
import type { Engine } from './engine.js';

/** Components looked at under one hold of a shard's lock, where there can be many: some tens of microseconds. */
const VISITS_AT_ONCE = 512;

/**
 * What is over is forgotten once everybody has seen that it is: up to the version that was acknowledged, components that say
 * nothing any more go, and so do floors and resets that nobody needs now. Who has to know is said in acknowledgements.ts.
 */
export class GarbageCollection {
  private readonly engine: Engine;

  constructor(engine: Engine) {
    this.engine = engine;
  }

  /**
   * Everybody, peers and disk, holds this node's changes of a shard up to this version; Infinity where there is nobody.
   * What was removed is forgotten then: a deleted key's empty component has told its story to all.
   */
  acknowledge(shardIndex: number, version: number): void {
    const { ownGeneration, records, store } = this.engine;
    const { numbers } = store;
    const shard = store.shardAt(shardIndex);
    const upTo = Math.min(version, this.engine.seen(shardIndex, OWN_ORIGIN));
    const collectedAt = (shard >>> 1) + Shard.collectedNumber;
    const own = store.originShardAt(OWN_ORIGIN, shard);
    let isWhole = false;
    while (!isWhole) {
      this.engine.withShard(shard, () => {
        numbers[(shard >>> 1) + Shard.acknowledgedNumber] = version;
        const from = numbers[collectedAt];
        if (this.hasEnded(shard, from)) {
          numbers[collectedAt] = this.visitRange(own, from, upTo, (at) => {
            if (ownGeneration.isEmpty(at)) this.collectOwn(shard, at);
            else if (ownGeneration.collectFloor(shard, at)) records.refreshKey(shard, at);
          });
        } else {
          numbers[collectedAt] = upTo;
        }
        isWhole = numbers[collectedAt] >= upTo;
      });
    }
  }

  /** Whether an own component changed behind this version might be one to forget, or might have a floor to let go. */
  private hasEnded(shard: number, from: number): boolean {
    const { attachments, numbers } = this.engine.store;
    return numbers[(shard >>> 1) + Shard.endedNumber] > from || attachments.countOf(shard, Kind.floor) > 0;
  }

  private collectOwn(shard: number, record: number): void {
    const { records } = this.engine;
    records.dropOwn(shard, record);
    records.refreshKey(shard, record);
  }

  /** Up to which version of another origin everybody has seen what this node has; takes the state of (origin, shard). */
  acknowledgedOther(state: number): number {
    if (!this.engine.isRelaying) return Number.POSITIVE_INFINITY;
    return this.engine.store.numbers[(state >>> 1) + OriginShard.acknowledgedNumber];
  }

  /** Every peer has seen another origin's changes of a shard up to this version: what it ended can be forgotten. */
  acknowledgeOther(shardIndex: number, origin: number, version: number): void {
    const { generations, ownGeneration, records, store } = this.engine;
    const { attachments, memory, numbers } = store;
    const shard = store.shardAt(shardIndex);
    const state = store.originShardAt(origin, shard);
    const acknowledgedAt = (state >>> 1) + OriginShard.acknowledgedNumber;
    const upTo = Math.min(version, numbers[(state >>> 1) + OriginShard.seenNumber]);
    while (numbers[acknowledgedAt] < upTo) {
      this.engine.withShard(shard, () => {
        const from = numbers[acknowledgedAt];
        const hasEnded = numbers[(shard >>> 1) + Shard.othersEndedNumber] > from;
        if (!hasEnded && attachments.countOf(shard, Kind.cancel) + attachments.countOf(shard, Kind.expiry) === 0) {
          numbers[acknowledgedAt] = upTo;
          return;
        }
        numbers[acknowledgedAt] = this.visitRange(state, from, upTo, (at) => {
          const record = memory[at + Component.foreignKey];
          ownGeneration.collectCancel(shard, record, origin, bornOf(memory, at));
          if (generations.isSilent(at)) {
            records.collectForeign(shard, record, at);
            records.refreshKey(shard, record);
          } else if (attachments.find(at, Kind.expiry) !== 0) {
            // It may go from here on when its time is over, or at once.
            numbers[acknowledgedAt] = versionOf(memory, at);
            generations.rearm(shard, record);
          }
        });
      });
    }
  }

  /**
   * Visits the components of a list in a range of versions, oldest first, but not more than a lane can wait for; returns the
   * version up to which all were visited. A visit may take the component out of the list.
   */
  private visitRange(state: number, from: number, upTo: number, visit: (component: number) => void): number {
    const { lists, store } = this.engine;
    const { memory } = store;
    let reached = from;
    let at = lists.firstAfterCursor(state, from);
    for (let left = VISITS_AT_ONCE; left > 0 && at !== 0 && versionOf(memory, at) <= upTo; left--) {
      const next = memory[at + Component.next];
      reached = versionOf(memory, at);
      visit(at);
      at = next;
    }
    const isWhole = at === 0 || versionOf(memory, at) > upTo;
    lists.moveCursor(state, from, isWhole ? 0 : memory[at + Component.previous]);
    return isWhole ? upTo : reached;
  }
}
