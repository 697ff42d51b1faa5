import { isReservedKey } from '../components/reserved.js';
import type { Engine } from '../keys/engine.js';
import { ByteInput } from '../memory/byte-input.js';
import { OriginShardWord, OWN_ORIGIN } from '../memory/layout.js';
import { linkAt } from '../memory/link.js';
import { Component, versionAt } from '../memory/record.js';
import { Batch, type Cancel, NOT_PASSED } from './batch.js';
import { type ComponentState, findOwn, putComponent, stateIn } from './component-state.js';
import { Merge } from './merge.js';
import { Restore } from './restore.js';
import { batchSince } from './walk.js';

/** Three stores of the same shards. The first two have the origin that is given up, the last has the new one. */
export interface CarryOver {
  /** As a start found it on the disk: peers may hold other changes of the origin that were made after that. */
  readonly base: Engine;
  /** The same and all changes since, which no peer has. */
  readonly current: Engine;
  /** Empty. */
  readonly target: Engine;
}

/**
 * Makes a store go on as a new incarnation, though two processes have changed it as the old one: this one, and another
 * whose changes peers hold. The old origin is put back to where both were the same, so that peers send the other's
 * changes; what this one has done since is carried by the new origin.
 *
 *   the own component …                         | the new origin's has
 *   --------------------------------------------|---------------------------------------------------------------------
 *   is as it was                                | nothing
 *   counted on in the same generation           | the difference, and the expiry
 *   … and lives longer now (EXPIRE, PERSIST)    | all of it, and a cancel of what the base had: the generation of an
 *                                               | origin that is gone ends with the expiry that it had
 *   has another generation, or none             | that generation, and a cancel of the one that the base had
 *   has new cancels or a later floor            | those too
 *   is of a quota (a reserved key)              | nothing: tokens belong to one incarnation, and are never given twice
 *
 * Returns how many components the new origin has got; -1 where memory is too small.
 */
export function carryOver({ base, current, target }: CarryOver): number {
  const restore = new Restore(target);
  restore.begin(current.nowMs);
  const origins = current.origins.count;
  for (let shard = 0; shard < target.shardCount; shard++) {
    for (let origin = OWN_ORIGIN + 1; origin < origins; origin++)
      if (!walkInto(restore, current, shard, origin)) return -1;
    if (!walkInto(restore, base, shard, OWN_ORIGIN)) return -1;
  }
  let count = 0;
  for (let shard = 0; shard < target.shardCount; shard++) {
    const carried = new ShardCarryOver(base, current, target, shard).run();
    if (!restore.apply(carried, current.nowMs)) return -1;
    count += carried.count;
  }
  restore.finish(current.nowMs);
  settleOwn(target);
  return count;
}

/** Everything that a store holds of an origin in a shard. */
function* walk(engine: Engine, shard: number, origin: number, from: number): Generator<Batch, void> {
  for (let at = from, passed = NOT_PASSED; ; ) {
    const batch = batchSince(engine, shard, origin, at, new Batch(), undefined, from, passed);
    yield batch;
    if (batch.to !== 0 || batch.count === 0) return;
    at = batch.reached;
    passed = batch.passed;
  }
}

function walkInto(restore: Restore, engine: Engine, shard: number, origin: number): boolean {
  for (const batch of walk(engine, shard, origin, 0)) if (!restore.apply(batch, engine.nowMs)) return false;
  return true;
}

/** Brings the new origin's generations in line with those of the others, as merging does. */
function settleOwn(engine: Engine): void {
  const { store } = engine;
  const merge = new Merge(engine);
  for (let index = 0; index < engine.shardCount; index++) {
    const shard = store.shardAt(index);
    engine.withShard(shard, () => {
      const records: number[] = [];
      const state = store.originShardAt(OWN_ORIGIN, shard);
      engine.lists.order(state);
      for (let at = linkAt(store.memory, state + OriginShardWord.tail); at !== 0; ) {
        records.push(at);
        at = linkAt(store.memory, at + Component.previous);
      }
      for (const record of records.reverse()) merge.settleKey(shard, record);
    });
  }
}

class ShardCarryOver {
  private readonly base: Engine;
  private readonly current: Engine;
  private readonly shard: number;
  private readonly nowMs: number;
  private readonly carried = new Batch();
  private version: number;

  constructor(base: Engine, current: Engine, target: Engine, shard: number) {
    this.base = base;
    this.current = current;
    this.shard = shard;
    this.nowMs = current.nowMs;
    this.carried.shardIndex = shard;
    this.carried.origin = target.origins.ownId;
    this.version = Math.max(versionAt(this.nowMs), target.seen(shard, OWN_ORIGIN));
  }

  run(): Batch {
    const { base, current, shard } = this;
    for (const batch of walk(base, shard, OWN_ORIGIN, 0))
      for (let index = 0; index < batch.count; index++) {
        const before = stateIn(batch, index);
        const after = findOwn(current, shard, before.key);
        if (after?.version !== before.version) this.carry(before, after);
      }
    for (const batch of walk(current, shard, OWN_ORIGIN, base.seen(shard, OWN_ORIGIN)))
      for (let index = 0; index < batch.count; index++) {
        const after = stateIn(batch, index);
        if (findOwn(base, shard, after.key) === undefined) this.carry(undefined, after);
      }
    this.carried.to = this.version;
    return this.carried;
  }

  private carry(before: ComponentState | undefined, after: ComponentState | undefined): void {
    const key = (before ?? after)?.key as Uint8Array;
    if (isReservedKey(ByteInput.copyOf(key), 0, key.length)) return;
    const cancels = newCancels(before, after);
    const wasThere = before !== undefined && this.isAlive(before);
    const isThere = after !== undefined && this.isAlive(after);
    const goesOn = before?.present === true && isThere && before.born === after.born && !livesLonger(before, after);
    if (!goesOn && before !== undefined && (wasThere || (isThere && before.born === after.born)))
      cancels.push({ ...before, origin: this.base.origins.ownId });
    const positive = isThere ? after.positive - (goesOn ? before.positive : 0n) : 0n;
    const negative = isThere ? after.negative - (goesOn ? before.negative : 0n) : 0n;
    const isNewExpiry = after?.decided !== before?.decided;
    const present = isThere && (!goesOn || positive !== 0n || negative !== 0n || isNewExpiry);
    const floorMs = !goesOn && (after?.floorMs ?? 0) > (before?.floorMs ?? 0) ? (after as ComponentState).floorMs : 0;
    if (!present && cancels.length === 0 && floorMs === 0) return;
    const version = ++this.version;
    let { decided, expiresAtMs } = present ? (after as ComponentState) : { decided: 0, expiresAtMs: 0 };
    // The expiry of a generation that was reset must not reach into this one.
    if (present && decided === 0 && wasThere && before.decided !== 0) decided = version;
    putComponent(this.carried, {
      key,
      version,
      born: version,
      present,
      positive,
      negative,
      decided,
      expiresAtMs,
      floorMs,
      cancels,
    });
  }

  private isAlive({ present, expiresAtMs }: ComponentState): boolean {
    return present && (expiresAtMs === 0 || expiresAtMs > this.nowMs);
  }
}

function livesLonger(before: ComponentState, after: ComponentState): boolean {
  return before.expiresAtMs !== 0 && (after.expiresAtMs === 0 || after.expiresAtMs > before.expiresAtMs);
}

/** Those that `before` has not, or with smaller amounts. */
function newCancels(before: ComponentState | undefined, after: ComponentState | undefined): Cancel[] {
  return (after?.cancels ?? []).filter(
    (cancel) =>
      !before?.cancels.some(
        ({ origin, born, positive, negative }) =>
          born === cancel.born &&
          Buffer.compare(origin, cancel.origin) === 0 &&
          positive >= cancel.positive &&
          negative >= cancel.negative,
      ),
  );
}
