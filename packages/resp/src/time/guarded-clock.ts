import { type Clock, systemMonotonicMs } from './clock.js';

/** The monotonic clock is read this often; a jump that is shorter is followed anyway. */
const SAMPLE_MS = 1000;
/** A bound on the skew of clocks may be 0, and a step of NTP is no jump. */
const SHORTEST_JUMP_MS = 10_000;
/** Where no peer is connected that could confirm a jump, it is followed after this time. */
const UNCONFIRMED_MS = 60_000;

export interface GuardedClockOptions {
  /** The clock that may jump. */
  readonly source: Clock;
  readonly skewBoundMs: number;
  /** Of the main thread's clock; without it this is the main thread's. */
  readonly shared?: SharedArrayBuffer;
  /** The same in all threads. */
  readonly monotonicMs?: () => number;
}

/**
 * The clock of a server, which does not follow the system's when that jumps far ahead. The time of a store never goes
 * back, so some seconds in a wrong year would keep it there. Instead time goes on by the monotonic clock until the
 * jump is confirmed, by the clock of a peer or by its length. A clock that goes back is followed: the store waits.
 *
 * One number is shared by all threads: how far the wall clock is known to be from the monotonic one. The main thread
 * writes it, once a second; each thread compares.
 */
export class GuardedClock implements Clock {
  readonly shared: SharedArrayBuffer;
  private readonly source: Clock;
  private readonly monotonicMs: () => number;
  private readonly longestJumpMs: number;
  private readonly known: Float64Array;
  private sampledAtMs = Number.NEGATIVE_INFINITY;
  /** How far the time of this clock is behind the source's, as of the last sample. */
  private offsetMs = 0;
  private jumpedAtMs: number | undefined = undefined;

  constructor({ source, skewBoundMs, shared, monotonicMs = systemMonotonicMs }: GuardedClockOptions) {
    this.source = source;
    this.monotonicMs = monotonicMs;
    this.longestJumpMs = Math.max(skewBoundMs, SHORTEST_JUMP_MS);
    this.shared = shared ?? new SharedArrayBuffer(Float64Array.BYTES_PER_ELEMENT);
    this.known = new Float64Array(this.shared);
    if (shared === undefined) this.known[0] = this.distanceMs();
  }

  now(): number {
    const wallMs = this.source.now();
    const sinceMs = wallMs - this.sampledAtMs;
    if (!(sinceMs >= 0 && sinceMs < SAMPLE_MS)) this.sample(wallMs);
    return wallMs - this.offsetMs;
  }

  monotonic(): number {
    return this.source.monotonic();
  }

  /** The source's time, jump or not: it is sent to peers, and compared with theirs. */
  wallMs(): number {
    return this.source.now();
  }

  /** How far the source has jumped ahead, while that is not followed; 0 where it is. */
  get jumpMs(): number {
    const jumpMs = Math.round(this.distanceMs() - this.known[0]);
    return jumpMs > this.longestJumpMs ? jumpMs : 0;
  }

  /**
   * Once a second, on the main thread: follows the source, unless it has jumped. `peerClocks` are the clocks of the
   * connected peers, each less the monotonic clock.
   */
  follow(peerClocks: readonly number[]): void {
    const distanceMs = this.distanceMs();
    if (this.jumpMs !== 0 && !this.isConfirmed(distanceMs, peerClocks)) return;
    this.known[0] = distanceMs;
    this.jumpedAtMs = undefined;
    this.sampledAtMs = Number.NEGATIVE_INFINITY;
  }

  private isConfirmed(distanceMs: number, peerClocks: readonly number[]): boolean {
    this.jumpedAtMs ??= this.monotonicMs();
    if (peerClocks.length === 0) return this.monotonicMs() - this.jumpedAtMs >= UNCONFIRMED_MS;
    return peerClocks.some((peerMs) => Math.abs(peerMs - distanceMs) <= this.longestJumpMs);
  }

  private sample(wallMs: number): void {
    this.sampledAtMs = wallMs;
    const jumpMs = wallMs - this.monotonicMs() - this.known[0];
    this.offsetMs = jumpMs > this.longestJumpMs ? Math.round(jumpMs) : 0;
  }

  private distanceMs(): number {
    return this.source.now() - this.monotonicMs();
  }
}
