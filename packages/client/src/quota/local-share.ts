import type { QuotaReserved, QuotaStanding } from '../contract/quota.js';

/**
 * What one process holds of one subject's quota: tokens that the server has taken out of the limit for it, under a
 * reservation that is charged in full if it is never settled. So no token is ever spent twice, even if the process
 * dies: the tokens it spent were taken before, and only those it reports as unspent come back.
 *
 *   state    | next
 *   ---------|------------------------------------------------------------------------------------------------------
 *   empty    | several requests soon after one another: a share is asked for
 *   held     | spent from, until it is used up, too old, or its window is over
 *   low      | half of it is spent, or half of its time is over: the next one is asked for, this one is spent on
 *   settled  | the spent tokens are charged, the rest goes back to the server; the next share takes its place, if any
 *
 * Times are those of performance.now, counted from before the server was asked: a window never lasts longer here than
 * at the server. The wall clock is checked as well, because performance.now stands still while a machine sleeps.
 */
export interface Share {
  readonly reservation: string;
  readonly size: number;
  left: number;
  readonly askedAtMs: number;
  /** Spent from until then. */
  readonly untilMs: number;
  readonly untilWallMs: number;
  readonly resetAtMs: number;
  readonly renewAtMs: number;
}

/** This many requests within the staleness, each asked for at the server, are worth a share. */
const BUSY_REQUESTS = 8;
/** For how many requests the first share of a subject is; the next ones follow the use. */
const FIRST_SHARE_REQUESTS = 32;
/** How much larger the next share may be than the one before. */
const GROWTH = 8;
/** A little more than was used, so that steady use does not run out just before the next share arrives. */
const HEADROOM = 1.5;
/** A share for fewer requests is not worth a reservation: two commands, each as expensive as several takes. */
const SMALLEST_SHARE_REQUESTS = 8;

export class LocalShare {
  readonly subject: string;
  share: Share | undefined;
  /** The next share is being asked for. */
  refilling: Promise<void> | undefined;
  resetAtMs = 0;
  #remainingHere = 0;
  #remainingElsewhere = 0;
  #asks = 0;
  #asksSinceMs = Number.NEGATIVE_INFINITY;
  /** The cost of the request that the server was last asked for. */
  #cost = 1;
  #noShareUntilMs = Number.NEGATIVE_INFINITY;
  #deniedUntilMs = Number.NEGATIVE_INFINITY;
  #deniedCost = 0;
  #retryAtMs = 0;

  constructor(subject: string) {
    this.subject = subject;
  }

  /** The remaining tokens, as far as this process knows. */
  get remaining(): number {
    return this.#remainingElsewhere + (this.share?.left ?? 0);
  }

  isDenied(nowMs: number, cost: number): boolean {
    return nowMs < this.#deniedUntilMs && cost >= this.#deniedCost;
  }

  retryAfterMs(nowMs: number): number {
    return this.#retryAtMs === Number.POSITIVE_INFINITY ? -1 : Math.max(Math.ceil(this.#retryAtMs - nowMs), 1);
  }

  /** Spends from the share, if it has enough and is not over. */
  take(cost: number, nowMs: number): boolean {
    const { share } = this;
    if (share === undefined || cost > share.left || nowMs >= share.untilMs) return false;
    if (Date.now() >= share.untilWallMs) return false;
    share.left -= cost;
    this.resetAtMs = share.resetAtMs;
    return true;
  }

  /** A request was asked for at the server. */
  noteAsked(cost: number, nowMs: number, stalenessMs: number): void {
    this.#cost = cost;
    if (nowMs - this.#asksSinceMs > stalenessMs) {
      this.#asksSinceMs = nowMs;
      this.#asks = 0;
    }
    this.#asks++;
  }

  /** The size of the share to ask for now, 0 for none: at most a part of the region's tokens. */
  wanted(nowMs: number, stalenessMs: number, processShare: number): number {
    const { share } = this;
    if (this.refilling !== undefined || nowMs < this.#noShareUntilMs) return 0;
    const isEarly =
      share === undefined ? this.#asks < BUSY_REQUESTS : share.left * 2 > share.size && nowMs < share.renewAtMs;
    if (isEarly) return 0;
    const useful = share === undefined ? FIRST_SHARE_REQUESTS * this.#cost : nextSize(share, nowMs, stalenessMs);
    const wanted = Math.min(useful, Math.floor(this.#remainingHere * processShare));
    return wanted < SMALLEST_SHARE_REQUESTS * this.#cost ? 0 : wanted;
  }

  /** Returns the share that was held before, to be settled. */
  hold(
    reserved: QuotaReserved & { readonly reservation: string },
    size: number,
    askedAtMs: number,
    stalenessMs: number,
  ) {
    const before = this.share;
    const { resetAfterMs } = reserved;
    const lastsMs = resetAfterMs < 0 ? stalenessMs : Math.min(stalenessMs, resetAfterMs);
    this.view(reserved);
    this.share = {
      reservation: reserved.reservation,
      size,
      left: size,
      askedAtMs,
      untilMs: askedAtMs + lastsMs,
      untilWallMs: Date.now() + lastsMs,
      resetAtMs: this.resetAtMs,
      renewAtMs: askedAtMs + stalenessMs / 2,
    };
    return before;
  }

  /** Removes the share, to be settled. */
  letGo(): Share | undefined {
    const { share } = this;
    this.share = undefined;
    return share;
  }

  view({ remainingHere, remainingEverywhere, resetAfterMs }: QuotaStanding): void {
    this.#remainingHere = remainingHere;
    this.#remainingElsewhere = remainingEverywhere;
    this.resetAtMs = resetAfterMs < 0 ? Number.POSITIVE_INFINITY : Date.now() + resetAfterMs;
  }

  /** Denies requests of this cost and above for a while, without asking whether tokens have come back. */
  deny(cost: number, retryAfterMs: number, nowMs: number, stalenessMs: number): void {
    this.#deniedCost = cost;
    this.#retryAtMs = retryAfterMs < 0 ? Number.POSITIVE_INFINITY : nowMs + retryAfterMs;
    this.#deniedUntilMs = Math.min(this.#retryAtMs, nowMs + stalenessMs);
  }

  /** The server refused a share: none is asked for until then. */
  refuseShare(untilMs: number): void {
    this.#noShareUntilMs = untilMs;
  }
}

/** The use of half a share's time at the present pace, and a little more. */
function nextSize({ size, left, askedAtMs }: Share, nowMs: number, stalenessMs: number): number {
  const paceForMs = stalenessMs / 2 / Math.max(nowMs - askedAtMs, 1);
  return Math.min(Math.ceil((size - left) * paceForMs * HEADROOM), size * GROWTH);
}
