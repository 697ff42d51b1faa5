import { covers, type Watermarks } from './vectors.js';

interface Claim {
  readonly versions: readonly number[];
  readonly atMs: number;
}

/** More than this many unmet ones of an origin: every second is let go, so that an answer comes sooner or later. */
const MAXIMUM_WAITING = 16;

/**
 * How old this node's view of each origin is. An origin says now and then how far it has come; once this node has seen
 * all of that, its view is as of the moment when that was said. Others pass it on with its age. Only this node's own clock
 * is read: what is said names the last ping that had come, so it was said after that was sent, however long it took. So the
 * answer is never too young.
 */
export class Freshness {
  private readonly asOfMs = new Map<string, number>();
  private readonly waiting = new Map<string, Claim[]>();

  /** Those that somebody has spoken of, also if they have never said anything themselves. */
  get origins(): IterableIterator<string> {
    return this.waiting.keys();
  }

  /** Somebody had come this far with an origin, at this time of the local monotonic clock or later. */
  hear(origin: string, versions: readonly number[], atMs: number): void {
    if (atMs <= (this.asOfMs.get(origin) ?? Number.NEGATIVE_INFINITY)) return;
    let waiting = this.waiting.get(origin) ?? [];
    if (waiting.length >= MAXIMUM_WAITING) waiting = waiting.filter((_, index) => index % 2 === 0);
    waiting.push({ versions, atMs });
    this.waiting.set(origin, waiting);
  }

  /** Called when more of an origin may have been seen. */
  settle(origin: string, seen: Watermarks): void {
    const waiting = this.waiting.get(origin);
    if (waiting === undefined || waiting.length === 0) return;
    const unmet = waiting.filter((claim) => {
      if (!covers(seen, claim.versions)) return true;
      this.asOfMs.set(origin, Math.max(this.asOfMs.get(origin) ?? claim.atMs, claim.atMs));
      return false;
    });
    this.waiting.set(origin, unmet);
  }

  /** How many milliseconds ago this node knew all of an origin; -1 = it never has. */
  ageMs(origin: string, nowMs: number): number {
    const asOf = this.asOfMs.get(origin);
    return asOf === undefined ? -1 : Math.max(0, nowMs - asOf);
  }
}
