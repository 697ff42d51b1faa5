import { printDuration } from '@quotadb/engine';
import type { GuardedClock } from '@quotadb/resp';
import type { Logger } from 'pino';

const FOLLOW_INTERVAL_MS = 1000;

interface ClockFollowerOptions {
  readonly clock: GuardedClock;
  /** The clocks of connected peers, each less the monotonic clock. */
  readonly peerClocks: () => readonly number[];
  readonly logger: Logger;
}

/** Has the server's clock follow the system's, and says when it does not. */
export class ClockFollower {
  private readonly options: ClockFollowerOptions;
  private readonly timer: NodeJS.Timeout;
  private hasJumped = false;

  constructor(options: ClockFollowerOptions) {
    this.options = options;
    this.timer = setInterval(() => this.follow(), FOLLOW_INTERVAL_MS).unref();
  }

  /** Why the server is not ready; undefined where its clock is followed. */
  findTrouble(): string | undefined {
    const { jumpMs } = this.options.clock;
    return jumpMs === 0
      ? undefined
      : `The clock of this server has jumped ahead by ${printDuration(jumpMs)}: its time goes on without it.`;
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private follow(): void {
    const { clock, logger, peerClocks } = this.options;
    const before = clock.jumpMs;
    if (before !== 0 && !this.hasJumped) {
      logger.error(
        { jumpMs: before },
        `the clock of this server has jumped ahead by ${printDuration(before)}: time goes on without it, until a ` +
          'peer’s clock shows the same or, while no peer is connected, for a minute. Set the clock if it is wrong',
      );
    }
    clock.follow(peerClocks());
    const hasJumped = clock.jumpMs !== 0;
    if (this.hasJumped && !hasJumped) {
      const why = before === 0 ? 'it is back where it was' : 'the jump is confirmed';
      logger.warn(`the clock of this server is followed again: ${why}`);
    }
    this.hasJumped = hasJumped;
  }
}
