import type { Pong } from '@quotadb/wire';
import type { LinkFigures } from './figures.js';

/**
 * The pings of one link, and what their pongs show: round trips, and the clock of the peer. A ping carries the time at
 * which it was sent, so its sender need not remember it.
 */
export class Pings {
  private readonly figures: LinkFigures;
  private sentAtMs = Number.NEGATIVE_INFINITY;
  /** Since when a ping waits for its pong; undefined where none does. */
  private awaitedSinceMs: number | undefined = undefined;
  /** The peer has answered a ping that was sent at this time: it ran then, and what it had sent before has arrived. */
  answeredMs = Number.NEGATIVE_INFINITY;

  constructor(figures: LinkFigures) {
    this.figures = figures;
  }

  isDue(nowMs: number, intervalMs: number): boolean {
    return nowMs - this.sentAtMs >= intervalMs;
  }

  /** The token of a ping that is sent now. */
  begin(nowMs: number): number {
    this.sentAtMs = nowMs;
    this.awaitedSinceMs ??= nowMs;
    return tokenAt(nowMs);
  }

  /** False for the pong to a ping that was never sent. */
  receive({ token, nowMs }: Pong, heardAtMs: number, wallMs: number): boolean {
    const roundTripMs = heardAtMs - timeOfToken(token);
    if (roundTripMs < 0) return false;
    this.answeredMs = Math.max(this.answeredMs, timeOfToken(token));
    this.awaitedSinceMs = token < tokenAt(this.sentAtMs) ? this.sentAtMs : undefined;
    this.figures.noteRoundTrip(roundTripMs);
    this.figures.clockMs = nowMs + roundTripMs / 2 - heardAtMs;
    this.figures.skewMs = nowMs - (wallMs - roundTripMs / 2);
    return true;
  }

  /** The last round trip, or how long the present one takes already. */
  echoMs(nowMs: number): number {
    const { awaitedSinceMs } = this;
    return Math.max(this.figures.roundTripMs, awaitedSinceMs === undefined ? 0 : nowMs - awaitedSinceMs);
  }
}

/** Rounded down to a microsecond, so that no view of another origin is taken for younger than it is. */
function tokenAt(nowMs: number): number {
  return Math.floor(nowMs * 1000);
}

export function timeOfToken(token: number): number {
  return token / 1000;
}
