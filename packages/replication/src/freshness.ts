import { MAX_ORIGINS } from '@quotadb/engine';
import { covers, type Watermarks } from './watermarks.js';

interface Claim {
  readonly versions: readonly number[];
  readonly atMs: number;
}

/** Origins whose age is kept: more than a store has room for. */
const MAXIMUM_ORIGINS = 2 * MAX_ORIGINS;

/** Open claims kept for an origin. Past it every second one is dropped, so that the rest can be met. */
const MAXIMUM_CLAIMS = 16;

/**
 * How old this node's view of each origin is. An origin reports its watermarks at times; once this node has reached all
 * of them, its view is as of the moment of that report. Other replicas pass reports on with their age. Only this node's
 * clock is read: a report names the last ping from here that had arrived, so it was written after that ping was sent,
 * however long it was under way. So an age may be too high, and is never too low.
 */
export class Freshness {
  private readonly asOfMs = new Map<string, number>();
  private readonly waiting = new Map<string, Claim[]>();

  /** Origins that some report has named, also those that this node has no changes of. */
  get origins(): IterableIterator<string> {
    return this.waiting.keys();
  }

  /** A replica had these watermarks of an origin at this time of the local monotonic clock, or later. */
  noteClaim(origin: string, versions: readonly number[], atMs: number): void {
    if (atMs <= (this.asOfMs.get(origin) ?? Number.NEGATIVE_INFINITY)) return;
    let waiting = this.waiting.get(origin) ?? [];
    if (waiting.length === 0 && this.waiting.size >= MAXIMUM_ORIGINS) this.dropSettled(origin);
    if (waiting.length >= MAXIMUM_CLAIMS) waiting = waiting.filter((_, index) => index % 2 === 0);
    waiting.push({ versions, atMs });
    this.waiting.set(origin, waiting);
  }

  /** Makes room: an origin without an open claim is named again by the next report, if there is one. */
  private dropSettled(except: string): void {
    for (const [origin, claims] of this.waiting) {
      if (origin === except || (claims.length > 0 && this.asOfMs.has(origin))) continue;
      this.waiting.delete(origin);
      this.asOfMs.delete(origin);
      return;
    }
  }

  /** Called when this node's watermarks of an origin may have moved. */
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

  /** How many milliseconds ago this node held all changes of an origin; -1 = it never has. */
  ageMs(origin: string, nowMs: number): number {
    const asOf = this.asOfMs.get(origin);
    return asOf === undefined ? -1 : Math.max(0, nowMs - asOf);
  }
}
