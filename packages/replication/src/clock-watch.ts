import { admittedUntilMs, EPOCH_MS, type ReDating } from '@quotadb/engine';
import type { Link } from './link.js';
import type { Replica } from './replica.js';

/**
 * The clocks of all peers have shown that the time of a replica is far ahead; kept on its disk. So at a start where the
 * data is later than the clock, the data is wrong and not the clock.
 */
export interface ClockNote {
  /** The latest of the peers' clocks when this was noted: a clock that is earlier at a start is wrong itself. */
  readonly peersMs: number;
  /** By shard: peers hold this node's own changes up to this version. */
  readonly heldByPeers: readonly number[];
}

interface ClockWatchOptions {
  readonly skewBoundMs: number;
  /** Keeps the note, or removes it, for the next start; undefined where there is no disk: a restart is all it takes. */
  readonly keep: ((note: ClockNote | undefined) => void) | undefined;
  /** The time of this replica is this far ahead of the clocks of its peers. Called once, until it is not any more. */
  readonly found: (aheadOfMs: number, peersMs: number) => void;
}

/**
 * Compares the time of this node with the clocks of its peers. Far ahead of all of them, it is this one that is wrong,
 * because of its clock or of data that was written when its clock was.
 */
export class ClockWatch {
  private readonly options: ClockWatchOptions;
  /** By shard, the most that a peer has reported, also one whose link has ended. */
  private readonly heldByPeers: number[] = [];
  /** `heldByPeers` of the note on disk, with commas between; undefined where there is none. */
  private kept: string | undefined = undefined;
  /** How far the time of this replica was ahead of the clocks of its peers when that was found; 0 where it is not. */
  aheadOfMs = 0;

  constructor(options: ClockWatchOptions) {
    this.options = options;
  }

  check(replica: Replica): void {
    const { found, keep, skewBoundMs } = this.options;
    const clocks = clocksOf(replica.links);
    if (clocks.length === 0) return;
    const { engine } = replica;
    const peersMs = Math.round(replica.clock.monotonicMs() + Math.max(...clocks));
    if (engine.nowMs <= admittedUntilMs(peersMs, skewBoundMs)) {
      if (this.kept !== undefined) keep?.(undefined);
      this.kept = undefined;
      this.aheadOfMs = 0;
      return;
    }
    const { heldByPeers } = this;
    for (const { seen } of replica.members.values())
      seen.find(replica.ownName)?.forEach((version, shard) => {
        heldByPeers[shard] = Math.max(heldByPeers[shard] ?? 0, version);
      });
    const text = heldByPeers.join();
    if (text === this.kept) return;
    if (this.kept === undefined) {
      this.aheadOfMs = engine.nowMs - peersMs;
      found(this.aheadOfMs, peersMs);
    }
    this.kept = text;
    keep?.({ peersMs, heldByPeers: Array.from({ length: engine.shardCount }, (_, shard) => heldByPeers[shard] ?? 0) });
  }
}

/** The clocks at the other ends of links that have answered, each less the monotonic clock of this node. */
export function clocksOf(links: Iterable<Link>): number[] {
  return [...links]
    .filter(({ isEstablished, figures }) => isEstablished && figures.clockMs !== 0)
    .map(({ figures }) => figures.clockMs);
}

export interface RestoredTime {
  /** The time that the data has come to. */
  readonly dataMs: number;
  readonly nowMs: number;
  readonly skewBoundMs: number;
  readonly shardCount: number;
  /** There are peers, or data of other regions. */
  readonly hasPeers: boolean;
  readonly note: ClockNote | undefined;
}

/**
 * Data that is later than the clock: it was written when the clock was ahead, or the clock is behind now. Dated anew in
 * the second case, this node would give versions again that its peers have. So peers must have shown the first, or
 * there must be none; and a clock that shows a time from before all versions is wrong for certain.
 */
export function reDatingOf({
  dataMs,
  nowMs,
  skewBoundMs,
  shardCount,
  hasPeers,
  note,
}: RestoredTime): ReDating | undefined {
  if (dataMs <= admittedUntilMs(nowMs, skewBoundMs) || nowMs < EPOCH_MS) return undefined;
  const isProven = note !== undefined && note.heldByPeers.length === shardCount && nowMs >= note.peersMs - skewBoundMs;
  if (hasPeers && !isProven) return undefined;
  return { nowMs, skewBoundMs, heldByPeers: note?.heldByPeers ?? [] };
}
