import { printDuration } from '@quotadb/engine';
import { type ClockNote, ClockWatch } from '@quotadb/replication';
import type { Clock } from '@quotadb/resp';
import type { Logger } from 'pino';

interface WatchOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly skewBoundMs: number;
  /** Keeps a note for the next start, or removes it; undefined where there is no disk. */
  readonly keep: ((note: ClockNote | undefined) => void) | undefined;
}

/** Compares the time of this server with the clocks of its peers, and logs what to do where it is far ahead. */
export function watchClock({ clock, logger, skewBoundMs, keep }: WatchOptions): ClockWatch {
  const found = (aheadOfMs: number, peersMs: number): void => {
    const isClockRight = Math.abs(clock.now() - peersMs) <= skewBoundMs;
    const wrong = isClockRight ? 'the data of this server is dated' : 'the clock of this server is';
    const set = isClockRight ? '' : 'Set the clock. ';
    const then = keep === undefined ? '' : ': what it has written meanwhile is dated anew then';
    logger.error(
      { peersMs, clockMs: clock.now() },
      `${wrong} ${printDuration(aheadOfMs)} ahead of the clocks of its peers, which refuse its changes. ` +
        `${set}Restart this server${then}`,
    );
  };
  return new ClockWatch({ skewBoundMs, keep, found });
}
