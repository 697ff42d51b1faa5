import { nameOfOrigin } from './identity.js';
import type { Link } from './link.js';
import type { Watermarks } from './watermarks.js';

interface Assignment {
  link: Link;
  /** When changes came last, or were requested. */
  movedAtMs: number;
  progress: number;
  /** How often changes were requested of the origin itself, in vain, while another replica was ahead. */
  vainTotal: number;
  /** It is asked in place of the origin, which has less than it. */
  isInstead: boolean;
}

export interface IncomingStreamsOptions {
  readonly links: Iterable<Link>;
  readonly ownOrigin: string;
  readonly seenOf: (origin: string) => Watermarks;
  readonly stallMs: number;
}

/** A stream with numbers dated too far ahead is not requested again from the same link for this long. */
const AHEAD_PAUSE_MS = 10_000;

/**
 * An origin that has less than others say after this number of requests is an old copy. What the others have is needed
 * to show it: where all that it is linked to are old copies too, no other replica can.
 */
const MOST_VAIN_REQUESTS = 10;

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
    const staysInstead = assignment?.isInstead === true && isAhead(assignment.link, origin, seen);
    if (direct !== undefined && assignment?.link !== direct && !staysInstead) {
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
      assignment.vainTotal = 0;
    } else if (nowMs - assignment.movedAtMs >= this.options.stallMs) {
      const others = ahead.filter((link) => link !== assignment.link);
      const isVain = assignment.link === direct && !ahead.includes(direct);
      const vainTotal = isVain ? assignment.vainTotal + 1 : 0;
      const isInstead = vainTotal > MOST_VAIN_REQUESTS && others.length > 0;
      const next = (isInstead ? undefined : direct) ?? others[0] ?? assignment.link;
      if (next !== assignment.link) assignment.link.cancelStream(origin);
      this.assign(origin, next, nowMs, { vainTotal, isInstead });
    }
  }

  private assign(origin: string, link: Link, nowMs: number, { vainTotal = 0, isInstead = false } = {}): void {
    const seen = this.options.seenOf(origin);
    this.assignments.set(origin, { link, movedAtMs: nowMs, progress: total(seen), vainTotal, isInstead });
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
