import { type Engine, OWN_ORIGIN, versionAt } from '@quotadb/engine';
import type { Watermarks } from './watermarks.js';

/** A start of this incarnation: how far its own sequence had come on the disk, by shard, and the time. */
export interface Start {
  readonly versions: ArrayLike<number>;
  readonly nowMs: number;
}

/**
 * Finds that a peer holds own changes that this node's disk did not give back: a sync that the disk promised and did
 * not do, or an old copy of the data directory. Going on under the same identity would lose increments.
 *
 * Versions date changes. Those between the last one that a start found on the disk and the time of that start were
 * given by no process that wrote to this directory. A peer with a watermark in such a gap has them from another one.
 * The gaps of earlier starts matter too: an old copy that was started out of reach, changed a key and was started once
 * more has own versions that are newer than all that peers hold.
 */
export class LostState {
  private readonly engine: Engine;
  private readonly starts: readonly Start[];

  /** The last start is that of this process. */
  constructor(engine: Engine, starts: readonly Start[]) {
    this.engine = engine;
    this.starts = starts;
  }

  /** Whether a peer's watermarks of this node's own changes show it. Gaps of earlier starts only where asked for. */
  isShownBy(seenByPeer: Watermarks, hasAllGaps: boolean): boolean {
    for (let shard = 0; shard < seenByPeer.length; shard++)
      if (seenByPeer[shard] > this.engine.seen(shard, OWN_ORIGIN)) return true;
    const starts = hasAllGaps ? this.starts : this.starts.slice(-1);
    return starts.some((start) => isInGap(start, seenByPeer));
  }
}

function isInGap({ versions, nowMs }: Start, watermarks: Watermarks): boolean {
  const end = versionAt(nowMs);
  for (let shard = 0; shard < watermarks.length; shard++)
    if (watermarks[shard] > versions[shard] && watermarks[shard] < end) return true;
  return false;
}
