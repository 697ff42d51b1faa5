import type { Engine } from '../keys/engine.js';
import { ExpiryNumber, FloorNumber, Kind } from '../memory/attachments.js';
import { TWO_POW_32 } from '../memory/int64.js';
import { OriginShardNumber, OriginShardWord, OWN_ORIGIN, ShardNumber } from '../memory/layout.js';
import { linkAt } from '../memory/link.js';
import { bornOf, Component, setBorn, setVersion, timeOfVersion, versionAt, versionOf } from '../memory/record.js';
import { aheadMs } from './batch-gate.js';
import { Merge } from './merge.js';

/** How a store that a clock far ahead has dated is dated anew. */
export interface ReDating {
  /** What the clock shows now that it is right. */
  readonly nowMs: number;
  /** The bound on the skew of clocks. */
  readonly skewBoundMs: number;
  /** By shard: peers hold this node's own changes up to this version, as far as is known. */
  readonly heldByPeers: ArrayLike<number>;
}

/**
 * No peer has admitted a number that is dated after this: its gate allows `aheadMs` from its own clock, which is ahead
 * of this one by the bound at most.
 */
export function admittedUntilMs(nowMs: number, skewBoundMs: number): number {
  return nowMs + aheadMs(skewBoundMs) + skewBoundMs;
}

/** The time that a store has come to: that of its clock, or of its newest own version. */
export function datedUntilMs(engine: Engine): number {
  let newest = 0;
  for (let index = 0; index < engine.shardCount; index++) newest = Math.max(newest, engine.seen(index, OWN_ORIGIN));
  return Math.max(engine.nowMs, timeOfVersion(newest));
}

/**
 * Takes a restored store back from the future, before clients and peers are served: the clock was far ahead when some
 * of it was written, and is right now. Own components that no peer can have admitted get versions from now on, in the
 * same order. What peers do hold stays as it is for them:
 *
 *   number                        | becomes, where it is later than any peer admits
 *   ------------------------------|---------------------------------------------------------------------------------
 *   version                       | the next one from now on
 *   born                          | that version. A generation born before goes on: its P and N have only grown
 *   expiry and its decided        | what was left of it, from now on; decided by that version
 *   floor                         | now
 *   the own sequence, the clock   | now
 *   watermarks of other origins   | 0
 *
 * Components of other origins have passed the gate, and are dated right; so are the cancels that name them. Returns how
 * many components were dated anew.
 */
export function reDate(engine: Engine, dating: ReDating): number {
  const wasMs = engine.nowMs;
  const { store, wheel } = engine;
  const merge = new Merge(engine);
  let count = 0;
  engine.clock.beginAt(dating.nowMs);
  for (let index = 0; index < engine.shardCount; index++) {
    const shard = store.shardAt(index);
    engine.withShard(shard, () => {
      // Components of others that had expired by the time that was wrong are gone here: peers send everything again.
      for (let origin = OWN_ORIGIN + 1; origin < engine.origins.count; origin++)
        store.numbers[(store.originShardAt(origin, shard) >>> 1) + OriginShardNumber.seen] = 0;
      const records: number[] = [];
      for (let place = 0; place < TWO_POW_32; )
        place = store.table.visitBucket(shard, place, (record) => records.push(record));
      // The wheel has turned to the time that was wrong.
      for (const record of records) wheel.disarm(shard, record);
      wheel.format(shard, engine.nowMs);
      count += new ShardReDating(engine, shard, dating, wasMs).run(dating.heldByPeers[index] ?? 0);
      for (const record of records) {
        // An expiry that another origin has set may be in force again.
        if (engine.generations.firstForeign(record) !== 0) merge.settleKey(shard, record);
        else engine.records.refreshKey(shard, record);
      }
    });
  }
  return count;
}

class ShardReDating {
  private readonly engine: Engine;
  private readonly shard: number;
  private readonly latestMs: number;
  private readonly latestVersion: number;
  private readonly wasMs: number;

  constructor(engine: Engine, shard: number, { nowMs, skewBoundMs }: ReDating, wasMs: number) {
    this.engine = engine;
    this.shard = shard;
    this.latestMs = admittedUntilMs(nowMs, skewBoundMs);
    this.latestVersion = versionAt(this.latestMs);
    this.wasMs = wasMs;
  }

  run(heldByPeers: number): number {
    const { engine, shard, latestVersion } = this;
    const { lists, store } = engine;
    const { memory, numbers } = store;
    const state = store.originShardAt(OWN_ORIGIN, shard);
    const ahead = this.takeAhead(state);
    const tail = linkAt(memory, state + OriginShardWord.tail);
    const kept = tail === 0 ? 0 : versionOf(memory, tail);
    const digestedAt = (state >>> 1) + OriginShardNumber.digested;
    numbers[digestedAt] = Math.min(numbers[digestedAt], kept);
    const seenAt = (state >>> 1) + OriginShardNumber.seen;
    const given = numbers[seenAt] > latestVersion ? 0 : numbers[seenAt];
    let version = Math.max(engine.clock.nowVersion, kept, given, heldByPeers);
    for (const record of ahead) {
      this.date(record, ++version);
      lists.insert(state, record);
    }
    numbers[seenAt] = version;
    const endedAt = (shard >>> 1) + ShardNumber.ended;
    numbers[endedAt] = Math.min(numbers[endedAt], version);
    return ahead.length;
  }

  /** Takes the components that are dated too late out of their list; the oldest comes first. */
  private takeAhead(state: number): number[] {
    const { lists, store } = this.engine;
    const { memory } = store;
    lists.order(state);
    const ahead: number[] = [];
    for (let at = linkAt(memory, state + OriginShardWord.tail); at !== 0; ) {
      if (versionOf(memory, at) <= this.latestVersion) break;
      ahead.push(at);
      at = linkAt(memory, at + Component.previous);
    }
    for (const component of ahead) lists.remove(state, component);
    return ahead.reverse();
  }

  private date(record: number, version: number): void {
    const { attachments, memory } = this.engine.store;
    setVersion(memory, record, version);
    if (bornOf(memory, record) > this.latestVersion) setBorn(memory, record, version);
    const floor = attachments.find(record, Kind.floor);
    if (floor !== 0 && attachments.numberAt(floor, FloorNumber.floorMs) > this.latestMs)
      attachments.setNumberAt(floor, FloorNumber.floorMs, this.engine.nowMs);
    const expiry = attachments.find(record, Kind.expiry);
    if (expiry === 0 || attachments.numberAt(expiry, ExpiryNumber.decided) <= this.latestVersion) return;
    attachments.setNumberAt(expiry, ExpiryNumber.decided, version);
    const expiresAtMs = attachments.numberAt(expiry, ExpiryNumber.expiresAtMs);
    if (expiresAtMs === 0) return;
    // One that had passed has passed.
    const leftMs = Math.max(expiresAtMs - this.wasMs, 0);
    attachments.setNumberAt(expiry, ExpiryNumber.expiresAtMs, this.engine.nowMs + leftMs);
  }
}
