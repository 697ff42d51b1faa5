import { nameOfOrigin } from './identity.js';
import type { Link } from './link.js';
import type { Watermarks } from './watermarks.js';

interface Assignment {
  link: Link;
  /** When changes came last, or were requested. */
  movedAtMs: number;
  progress: number;
}

export interface IncomingStreamsOptions {
  readonly links: Iterable<Link>;
  readonly ownOrigin: string;
  readonly seenOf: (origin: string) => Watermarks;
  readonly stallMs: number;
}

/** A stream with numbers dated too far ahead is not requested again from the same link for this long. */
const AHEAD_PAUSE_MS = 10_000;

/** A new origin, or one that is ahead elsewhere, is noticed within this time. */
const CHOICE_INTERVAL_MS = 50;

/**
 * Chooses the link over which this node gets the changes of each origin: the link to the origin itself where there is
 * one, otherwise one to a replica that is ahead and may relay. The request names the watermarks to begin at; after that
 * the peer sends changes as they come. Where a stream stalls, it is requested again, from another peer if there is one.
 */
export class IncomingStreams {
  private readonly options: IncomingStreamsOptions;
  private readonly assignments = new Map<string, Assignment>();
  /** By origin: the link that is not asked for its changes, and until when. */
  private readonly paused = new Map<string, { readonly link: Link; readonly untilMs: number }>();
  private chosenAtMs = 0;

  constructor(options: IncomingStreamsOptions) {
    this.options = options;
  }

  /** Chooses anew for all origins that a peer has reported, at most every CHOICE_INTERVAL_MS. */
  consider(nowMs: number): void {
    if (nowMs - this.chosenAtMs >= CHOICE_INTERVAL_MS) this.choose(nowMs);
  }

  choose(nowMs: number): void {
    this.chosenAtMs = nowMs;
    const origins = new Set<string>();
    for (const link of this.options.links) {
      if (!link.isEstablished) continue;
      origins.add(nameOfOrigin(link.origin));
      for (const origin of link.member.seen.origins) origins.add(origin);
    }
    origins.delete(this.options.ownOrigin);
    for (const origin of origins) this.chooseFor(origin, nowMs);
  }

  isSource(origin: string, link: Link): boolean {
    return this.assignments.get(origin)?.link === link;
  }

  /** A part of a walk arrived: one that takes long is no reason to request it again. */
  noteArrival(origin: string, link: Link, nowMs: number): void {
    const assignment = this.assignments.get(origin);
    if (assignment?.link === link) assignment.movedAtMs = nowMs;
  }

  /** A part from this link was lost on the way. */
  requestAgain(origin: string, link: Link, nowMs: number): void {
    const assignment = this.assignments.get(origin);
    if (assignment?.link === link) this.assign(origin, link, nowMs);
  }

  /** A part from this link cannot be applied now: the stream is cancelled, and requested again later. */
  pause(origin: string, link: Link, nowMs: number): void {
    if (this.assignments.get(origin)?.link !== link) return;
    this.assignments.delete(origin);
    this.paused.set(origin, { link, untilMs: nowMs + AHEAD_PAUSE_MS });
    link.cancelStream(origin);
  }

  remove(link: Link): void {
    for (const [origin, paused] of this.paused) if (paused.link === link) this.paused.delete(origin);
    for (const [origin, assignment] of this.assignments) if (assignment.link === link) this.assignments.delete(origin);
  }

  private chooseFor(origin: string, nowMs: number): void {
    const paused = this.paused.get(origin);
    if (paused !== undefined && nowMs >= paused.untilMs) this.paused.delete(origin);
    const isPaused = (link: Link) => link === paused?.link && nowMs < paused.untilMs;
    const links = [...this.options.links].filter((link) => link.isEstablished && !isPaused(link));
    const direct = links.find((link) => nameOfOrigin(link.origin) === origin);
    const assignment = this.assignments.get(origin);
    const seen = this.options.seenOf(origin);
    if (direct !== undefined && assignment?.link !== direct) {
      assignment?.link.cancelStream(origin);
      this.assign(origin, direct, nowMs);
      return;
    }
    const ahead = links.filter((link) => (link === direct || link.mayRelay) && isAhead(link, origin, seen));
    if (assignment === undefined) {
      if (ahead.length > 0) this.assign(origin, ahead[0], nowMs);
      return;
    }
    const progress = total(seen);
    if (progress !== assignment.progress || ahead.length === 0) {
      assignment.progress = progress;
      assignment.movedAtMs = nowMs;
    } else if (nowMs - assignment.movedAtMs >= this.options.stallMs) {
      const others = ahead.filter((link) => link !== assignment.link);
      const next = direct ?? others[0] ?? assignment.link;
      if (next !== assignment.link) assignment.link.cancelStream(origin);
      this.assign(origin, next, nowMs);
    }
  }

  private assign(origin: string, link: Link, nowMs: number): void {
    const seen = this.options.seenOf(origin);
    this.assignments.set(origin, { link, movedAtMs: nowMs, progress: total(seen) });
    link.requestStream(origin, seen);
  }
}

function isAhead(link: Link, origin: string, seen: Watermarks): boolean {
  const theirs = link.member.seen.find(origin);
  return theirs?.some((version, shard) => version > seen[shard]) ?? false;
}

/** Whole versions of many shards would add up to more than a double holds exactly. */
const MOVEMENT_MODULUS = 2 ** 40;

/** Only compared for equality: any movement changes it. */
function total(seen: Watermarks): number {
  let sum = 0;
  for (const version of seen) sum += version % MOVEMENT_MODULUS;
  return sum;
}
