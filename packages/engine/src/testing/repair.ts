import type { Merge } from '../batches/merge.js';
import type { Engine } from '../keys/engine.js';
import { OriginShardWord, OWN_ORIGIN } from '../memory/layout.js';
import { linkAt } from '../memory/link.js';
import { Component, keyRecordOf, versionOf } from '../memory/record.js';
import { recordOf } from './inspect.js';

/**
 * Repair of everything one replica holds against another, at true cuts: what the other has seen past and does not hold
 * is gone. Needed only where an origin lost its memory before every peer had received the end of a generation.
 * Returns how many components went.
 */
export function repairFrom(engine: Engine, merge: Merge, peer: Engine): number {
  const { store } = engine;
  let dropped = 0;
  for (let origin = OWN_ORIGIN + 1; origin < engine.origins.count; origin++) {
    const theirs = peer.origins.find(engine.origins.idOf(origin));
    if (theirs === -1) continue;
    for (let index = 0; index < engine.shardCount; index++) {
      const shard = store.shardAt(index);
      const cut = peer.seen(index, theirs);
      let at = linkAt(store.memory, store.originShardAt(origin, shard) + OriginShardWord.head);
      while (at !== 0) {
        const next = linkAt(store.memory, at + Component.next);
        const record = keyRecordOf(store.memory, at);
        if (versionOf(store.memory, at) <= cut && !holds(peer, engine.keyOf(record), theirs)) {
          engine.records.dropForeign(shard, record, at);
          engine.ownGeneration.collectCancel(shard, record, origin, 0);
          merge.settleKey(shard, record);
          dropped++;
        }
        at = next;
      }
    }
  }
  return dropped;
}

function holds(peer: Engine, key: Uint8Array, origin: number): boolean {
  const { record } = recordOf(peer, key);
  if (record === 0) return false;
  if (origin === OWN_ORIGIN) return versionOf(peer.store.memory, record) !== 0;
  return peer.generations.findForeign(record, origin) !== 0;
}
