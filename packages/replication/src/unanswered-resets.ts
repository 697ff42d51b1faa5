import { type Batch, OWN_ORIGIN } from '@quotadb/engine';
import { RangeScan } from './range-scan.js';
import type { Replica } from './replica.js';

/** Pieces of the scan done at one tick. */
const STEPS_PER_TICK = 4;
/** Resets of one shard that are looked at in one round; the others are, in a later one. */
const MAXIMUM_RESETS = 4096;

interface Reset {
  readonly key: Uint8Array;
  /** The index of the origin whose generation was reset. */
  readonly origin: number;
}

/**
 * A reset is kept until the owner of the generation that it cancels has answered: the generation is over. Where this
 * node has no component of the generation any more (its time was over, or a crash took it back), and its owner has
 * answered without waiting for this node (it was away for too long), the answer is in no stream and in no digest, and
 * all replicas would keep the reset for good. So at intervals this node sends such resets once more, and the owner
 * answers again (Merge.answerCancel). Resets of an origin that no replica hears of any more stay: it will not answer.
 */
export class UnansweredResets {
  private readonly replica: Replica;
  private shards: number[] = [];
  private scan: RangeScan | undefined = undefined;
  private resets: Reset[] = [];
  private dueAtMs = Number.NEGATIVE_INFINITY;

  constructor(replica: Replica) {
    this.replica = replica;
  }

  tick(nowMs: number): void {
    if (this.scan === undefined && this.shards.length === 0) {
      if (nowMs < this.dueAtMs) return;
      const { engine, settings } = this.replica;
      this.dueAtMs = nowMs + settings.resetIntervalMs;
      for (let shard = 0; shard < engine.shardCount; shard++) if (engine.hasResets(shard)) this.shards.push(shard);
    }
    for (let step = 0; step < STEPS_PER_TICK; step++) this.scanOn(nowMs);
  }

  private scanOn(nowMs: number): void {
    const shard = this.scan?.shard ?? this.shards.pop();
    if (shard === undefined) return;
    this.scan ??= new RangeScan(this.replica.engine, shard, OWN_ORIGIN, (batch, index) =>
      this.visit(shard, batch, index, nowMs),
    );
    this.scan.step();
    if (!this.scan.isDone) return;
    this.scan = undefined;
    // Not during the scan: a reset that is sent again moves to the end of the list, where the scan would find it again.
    for (const { key, origin } of this.resets.splice(0)) this.replica.merge.repeatReset(origin, key);
  }

  private visit(shard: number, batch: Batch, index: number, nowMs: number): void {
    const { engine } = this.replica;
    for (let at = batch.cancelStart(index); at < batch.cancelEnd[index]; at++) {
      const { origin: id, born } = batch.cancels[at];
      const origin = engine.origins.find(id);
      if (this.resets.length >= MAXIMUM_RESETS || engine.seen(shard, origin) < born) continue;
      if (!this.isAlive(origin, nowMs)) continue;
      this.resets.push({ key: batch.keyBytes.slice(batch.keyStart(index), batch.keyEnd[index]), origin });
    }
  }

  private isAlive(origin: number, nowMs: number): boolean {
    const { freshness, settings } = this.replica;
    const ageMs = freshness.ageMs(this.replica.origins()[origin], nowMs);
    return ageMs >= 0 && ageMs < settings.resetIntervalMs;
  }
}
