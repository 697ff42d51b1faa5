import { admittedUntilMs, printDuration } from '@quotadb/engine';
import type { Link, Replica } from '@quotadb/replication';
import type { Clock } from '@quotadb/resp';
import type { Logger } from 'pino';
import type { ClockNote } from '../durability/clock-note.js';

interface ClockWatchOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly skewBoundMs: number;
  /** Keeps the note, or removes it, for the next start; undefined where there is no disk: a restart is all it takes. */
  readonly keep: ((note: ClockNote | undefined) => void) | undefined;
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

  constructor(options: ClockWatchOptions) {
    this.options = options;
  }

  check(replica: Replica): void {
    const { keep, skewBoundMs } = this.options;
    const clocks = clocksOf(replica.links);
    if (clocks.length === 0) return;
    const { engine } = replica;
    const peersMs = Math.round(replica.clock.monotonicMs() + Math.max(...clocks));
    if (engine.nowMs <= admittedUntilMs(peersMs, skewBoundMs)) {
      if (this.kept !== undefined) keep?.(undefined);
      this.kept = undefined;
      return;
    }
    const { heldByPeers } = this;
    for (const { seen } of replica.members.values())
      seen.find(replica.ownName)?.forEach((version, shard) => {
        heldByPeers[shard] = Math.max(heldByPeers[shard] ?? 0, version);
      });
    const text = heldByPeers.join();
    if (text === this.kept) return;
    if (this.kept === undefined) this.log(engine.nowMs - peersMs, peersMs);
    this.kept = text;
    keep?.({ peersMs, heldByPeers: Array.from({ length: engine.shardCount }, (_, shard) => heldByPeers[shard] ?? 0) });
  }

  private log(aheadOfMs: number, peersMs: number): void {
    const { clock, keep, logger, skewBoundMs } = this.options;
    const isClockRight = Math.abs(clock.now() - peersMs) <= skewBoundMs;
    const wrong = isClockRight ? 'the data of this server is dated' : 'the clock of this server is';
    const set = isClockRight ? '' : 'Set the clock. ';
    const then = keep === undefined ? '' : ': what it has written meanwhile is dated anew then';
    logger.error(
      { peersMs, clockMs: clock.now() },
      `${wrong} ${printDuration(aheadOfMs)} ahead of the clocks of its peers, which refuse its changes. ` +
        `${set}Restart this server${then}`,
    );
  }
}

/** The clocks at the other ends of links that have answered, each less the monotonic clock of this node. */
export function clocksOf(links: Iterable<Link>): number[] {
  return [...links]
    .filter(({ isEstablished, figures }) => isEstablished && figures.clockMs !== 0)
    .map(({ figures }) => figures.clockMs);
}
