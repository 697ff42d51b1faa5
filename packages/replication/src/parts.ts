import { Batch, batchSince, type Engine, NOT_PASSED, type WalkLimits } from '@quotadb/engine';
import { encodeBatch, FrameArena } from '@quotadb/wire';

/** Two mebibytes: what one tick encodes for two peers that are not at the same watermark. */
const ARENA_BUFFERS = 8;

/** A part of a walk, ready to be sent. */
export interface Part {
  /** Written over at the next tick: who needs them longer calls `PartMaker.release`. */
  readonly bytes: Uint8Array;
  readonly walk: number;
  /** The watermark from which the walk began. */
  readonly start: number;
  readonly reached: number;
  /** See Batch.passed. */
  readonly passed: number;
  /** Where the walk ended, 0 where more follows. */
  readonly to: number;
  readonly components: number;
  /** An own part is sent only when this node's disk holds its changes up to here. */
  readonly newest: number;
}

/** How far a walk has come. */
export interface WalkPlace {
  readonly walk: number;
  readonly from: number;
  readonly passed: number;
}

/**
 * Makes parts of walks. Peers that keep up are all at the same watermark, so a part that was made for one of them is
 * kept for the others until the next tick.
 */
export class PartMaker {
  private readonly engine: Engine;
  private readonly limits: WalkLimits;
  private readonly batch = new Batch();
  /** The last part that began a walk, by origin and shard. */
  private readonly kept = new Map<number, Part>();
  private readonly arena = new FrameArena(ARENA_BUFFERS);
  private lastWalk = 0;

  constructor(engine: Engine, limits: WalkLimits) {
    this.engine = engine;
    this.limits = limits;
  }

  /** A tick begins. */
  clear(): void {
    this.kept.clear();
    this.arena.reuse();
  }

  /** The bytes of the parts made so far are needed beyond this tick. */
  release(): void {
    this.arena.release();
  }

  /** The first part of a walk from this watermark. */
  begin(shard: number, origin: number, start: number): Part {
    const place = origin * this.engine.shardCount + shard;
    const kept = this.kept.get(place);
    if (kept?.start === start) return kept;
    const part = this.make(shard, origin, start, { walk: ++this.lastWalk, from: start, passed: NOT_PASSED });
    this.kept.set(place, part);
    return part;
  }

  make(shard: number, origin: number, start: number, { walk, from, passed }: WalkPlace): Part {
    const { batch } = this;
    batchSince(this.engine, shard, origin, from, batch, this.limits, start, passed);
    batch.walk = walk;
    return {
      bytes: encodeBatch(batch, this.arena),
      walk,
      start,
      reached: batch.reached,
      passed: batch.passed,
      to: batch.to,
      components: batch.count,
      newest: Math.max(batch.reached, batch.to),
    };
  }
}
