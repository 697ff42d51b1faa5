import { type Engine, OWN_ORIGIN, versionAt } from '@quotadb/engine';
import type { Member } from './member.js';
import type { Watermarks } from './watermarks.js';

/** A start of this incarnation: how far its own sequence had come on the disk, by shard, and the time. */
export interface Start {
  readonly versions: ArrayLike<number>;
  readonly nowMs: number;
  /** No change that was made since may have been sent, and the state at this start can be rebuilt from the disk. */
  readonly isHeld?: boolean;
}

/** A peer has shown that this node's data is an old copy. */
export interface OldCopyProof {
  /** Both copies were the same at this start, as far as is known. */
  readonly start: Start;
  readonly reason: string;
}

/**
 * The starts of this incarnation, and what peers say to them.
 *
 * A peer may hold own changes that this node's disk did not give back: a sync that the disk promised and did not do, or
 * an old copy of the data directory. Going on under the same identity would lose increments. Versions date changes.
 * Those between the last one that a start found on the disk and the time of that start were given by no process that
 * wrote to this directory: a peer with a watermark in such a gap has them from another one. The gaps of earlier starts
 * matter too: an old copy that was started out of reach, changed a key and was started once more has own versions that
 * are newer than all that peers hold.
 *
 * Until every member has reported its watermarks, or one has and the others had time to, own changes made since a start
 * are held back. So where the proof comes, no peer has any of them, and the directory can become a new incarnation
 * without a loss.
 */
export class OwnStarts {
  private readonly engine: Engine;
  private readonly starts: readonly Start[];
  private readonly release: () => boolean;
  /** The earliest start since which nothing was sent; undefined where all changes may be sent. */
  private held: Start | undefined;

  /**
   * The last start is that of this process. `release` notes on disk that changes may be sent; false where it cannot.
   */
  constructor(engine: Engine, starts: readonly Start[], release: () => boolean) {
    this.engine = engine;
    this.starts = starts;
    this.release = release;
    this.held = starts.find(({ isHeld }) => isHeld === true);
  }

  get isHolding(): boolean {
    return this.held !== undefined;
  }

  /** Own changes of a shard may be sent up to this version. */
  sendableUpTo(shard: number): number {
    return this.held?.versions[shard] ?? Number.POSITIVE_INFINITY;
  }

  /** Lets changes go when all members have shown no old copy, or `patienceMs` after the first one has. */
  consider(members: Iterable<Member>, nowMs: number, patienceMs: number): void {
    if (this.held === undefined) return;
    let firstMs = Number.POSITIVE_INFINITY;
    let isEach = true;
    for (const { confirmedAtMs, isGivenUp } of members) {
      if (confirmedAtMs !== undefined) firstMs = Math.min(firstMs, confirmedAtMs);
      else if (!isGivenUp) isEach = false;
    }
    const isDue = firstMs !== Number.POSITIVE_INFINITY && (isEach || nowMs - firstMs >= patienceMs);
    if (isDue && this.release()) this.held = undefined;
  }

  /** Whether a peer's watermarks of this node's own changes show an old copy. Earlier gaps only where asked for. */
  findProof(region: string, seenByPeer: Watermarks, hasAllGaps: boolean): OldCopyProof | undefined {
    const { engine, held, starts } = this;
    const present = starts[starts.length - 1];
    // No peer has got a change from here that was made since a start that is held.
    const isBeyond = seenByPeer.some(
      (version, shard) => version > (held?.versions[shard] ?? engine.seen(shard, OWN_ORIGIN)),
    );
    const shown = starts.filter((start) => isInGap(start, seenByPeer));
    if (!isBeyond && !(hasAllGaps ? shown.length > 0 : shown.includes(present))) return undefined;
    // Without a gap the other process has run at the same time as this one: the copy was made before the first start.
    const start = shown[0] ?? held ?? present;
    const then =
      held !== undefined && start.isHeld === true
        ? 'restart it to make it a new incarnation that has the counts of both'
        : 'start it as a new incarnation (quotadb repair --new-incarnation)';
    return { start, reason: `the data of ${region} is older than what its peers hold of it: ${then}` };
  }
}

function isInGap({ versions, nowMs }: Start, watermarks: Watermarks): boolean {
  const end = versionAt(nowMs);
  for (let shard = 0; shard < watermarks.length; shard++)
    if (watermarks[shard] > versions[shard] && watermarks[shard] < end) return true;
  return false;
}
