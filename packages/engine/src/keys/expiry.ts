import { ShardNumber, ShardWord } from '../memory/layout.js';
import { linkAt } from '../memory/link.js';
import { bornOf, Component, originIndexOf, versionOf } from '../memory/record.js';
import type { Engine } from './engine.js';

/**
 * Drops expired keys in the background, a bounded number a call: readers have stopped seeing them already. Each
 * generation is dropped by its own expiry, and not before the grace has passed; the wheel (wheel.ts) says when a key is
 * due.
 */
export class Expiry {
  private readonly engine: Engine;
  /** The index of the shard that is next. */
  private nextShard = 0;

  constructor(engine: Engine) {
    this.engine = engine;
  }

  /** Drops expired keys, a bounded number a call, shard after shard; returns how many steps of work it did. */
  expireSome(limit: number): number {
    const { engine } = this;
    const { generations, shardCount, store, wheel } = engine;
    let left = limit;
    for (let turn = 0; turn < shardCount && left > 0; turn++) {
      const shard = store.shardAt(this.nextShard);
      left = engine.withShard(shard, () =>
        wheel.turn(shard, engine.nowMs, left, generations.deadlineOf, this.expireKey),
      );
      if (left > 0) this.nextShard = (this.nextShard + 1) % shardCount;
    }
    return limit - left;
  }

  private readonly expireKey = (shard: number, record: number): void => {
    const { generations, nowMs, ownGeneration, records, store } = this.engine;
    const horizonMs = nowMs - generations.graceMs;
    const keysBefore = store.memory[shard + ShardWord.keys];
    this.dropExpired(shard, record, horizonMs);
    ownGeneration.collectFloor(shard, record);
    records.refreshKey(shard, record);
    store.numbers[(shard >>> 1) + ShardNumber.expired] += keysBefore - store.memory[shard + ShardWord.keys];
  };

  /** Drops the generations of a key whose own expiry was over at the horizon. */
  private dropExpired(shard: number, record: number, horizonMs: number): void {
    const { generations, ownGeneration, records, store, unpublished } = this.engine;
    const { memory } = store;
    if (unpublished.untilMs(record) <= horizonMs) unpublished.discard(shard, record);
    const expiresAt = generations.expiresAt(record);
    if (expiresAt !== 0 && expiresAt <= horizonMs) this.endExpired(shard, record, expiresAt);
    for (let at = generations.firstForeign(record); at !== 0; ) {
      const next = linkAt(memory, at + Component.foreignSibling);
      if (generations.isOver(shard, at, horizonMs)) {
        ownGeneration.collectCancel(shard, record, originIndexOf(memory, at), bornOf(memory, at));
        records.collectForeign(shard, record, at);
      }
      at = next;
    }
  }

  private endExpired(shard: number, record: number, expiresAt: number): void {
    const { dropped, generations, origins, ownGeneration, records, store } = this.engine;
    const acknowledged = store.numbers[(shard >>> 1) + ShardNumber.acknowledged];
    const isKnown = versionOf(store.memory, record) <= acknowledged && generations.cancelled(record, record) === null;
    ownGeneration.before(shard, record);
    // Without memory for the floor the generation stays, hidden: without either, generations that it ended would come
    // back.
    const isKept = ownGeneration.keepFloor(shard, record, expiresAt);
    if (isKept) ownGeneration.end(shard, record);
    // Where every peer has acknowledged the expiry, each drops the generation by the same rule. Otherwise a stamped
    // change says that it is over.
    if (isKept && isKnown && store.attachments.isEmpty(record)) {
      // Restored from disk, this expiry would also end generations of others that arrived after it was dropped here.
      if (origins.count > 1 || this.engine.isRelaying) dropped.note(shard, record, record);
      records.dropOwn(shard, record);
    } else {
      ownGeneration.stamp(shard, record);
    }
  }
}
