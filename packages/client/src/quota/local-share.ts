import type { QuotaReserved, QuotaStanding } from '../quota-commands.js';

/**
 * What one process holds of one subject's quota: tokens that the server has taken out of the limit for it, under a
 * reservation that is charged if nobody settles it. Whatever happens to the process, a token is never spent twice: what it
 * spent was taken before, and only what it says it has not spent comes back.
 *
 *   state    | next
 *   ---------|---------------------------------------------------------------------------------------------------------
 *   nothing  | several requests soon after one another: a share is asked for
 *   held     | spent from, until it is used up, too old, or its window is over
 *   low      | half of it is gone, or half of its time: the next one is asked for, and meanwhile this one is spent
 *   settled  | the server is told what was spent, and gets back the rest; the next share takes its place, or nothing
 *
 * Times are those of performance.now, counted from before the server was asked: a window is never taken to last longer than
 * the server does. The clock on the wall is looked at as well, because the other one stands still while a machine sleeps.
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

/** So many requests within the staleness, asked for one by one, are worth a share. */
const BUSY_REQUESTS = 8;
/** For how many requests the first share of a subject is; the next ones follow what was used. */
const FIRST_SHARE_REQUESTS = 32;
/** How much more the next share may be than the one before. */
const GROWTH = 8;
/** A little more than was used, so that steady use does not run out just before the next share is there. */
const HEADROOM = 1.5;
/** A share for fewer requests than this is not worth a reservation: two commands, each as dear as several takes. */
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
  /** What the request cost that the server was last asked for. */
  #cost = 1;
  #noShareUntilMs = Number.NEGATIVE_INFINITY;
  #deniedUntilMs = Number.NEGATIVE_INFINITY;
  #deniedCost = 0;
  #retryAtMs = 0;

  constructor(subject: string) {
    this.subject = subject;
  }

  /** What is left by what is known here. */
  get remaining(): number {
    return this.#remainingElsewhere + (this.share?.left ?? 0);
  }

  isDenied(nowMs: number, cost: number): boolean {
    return nowMs < this.#deniedUntilMs && cost >= this.#deniedCost;
  }

  retryAfterMs(nowMs: number): number {
    return this.#retryAtMs === Number.POSITIVE_INFINITY ? -1 : Math.max(Math.ceil(this.#retryAtMs - nowMs), 1);
  }

  /** Spends from what is held, if that has enough and its time has not come. */
  take(cost: number, nowMs: number): boolean {
    const { share } = this;
    if (share === undefined || cost > share.left || nowMs >= share.untilMs) return false;
    if (Date.now() >= share.untilWallMs) return false;
    share.left -= cost;
    this.resetAtMs = share.resetAtMs;
    return true;
  }

  /** The server was asked for a request of its own. */
  noteAsked(cost: number, nowMs: number, stalenessMs: number): void {
    this.#cost = cost;
    if (nowMs - this.#asksSinceMs > stalenessMs) {
      this.#asksSinceMs = nowMs;
      this.#asks = 0;
    }
    this.#asks++;
  }

  /** How much to ask for now, 0 where it is not the time: at most a part of what the region holds. */
  wanted(nowMs: number, stalenessMs: number, processShare: number): number {
    const { share } = this;
    if (this.refilling !== undefined || nowMs < this.#noShareUntilMs) return 0;
    if (share === undefined ? this.#asks < BUSY_REQUESTS : share.left * 2 > share.size && nowMs < share.renewAtMs)
      return 0;
    const useful = share === undefined ? FIRST_SHARE_REQUESTS * this.#cost : nextSize(share, nowMs, stalenessMs);
    const wanted = Math.min(useful, Math.floor(this.#remainingHere * processShare));
    return wanted < SMALLEST_SHARE_REQUESTS * this.#cost ? 0 : wanted;
  }

  /** The share that was there before, to be settled. */
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

  /** Out of here, to be settled; nothing is spent from it any more. */
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

  /** Requests of this cost and above are denied here for a while: what others give back is seen soon enough. */
  deny(cost: number, retryAfterMs: number, nowMs: number, stalenessMs: number): void {
    this.#deniedCost = cost;
    this.#retryAtMs = retryAfterMs < 0 ? Number.POSITIVE_INFINITY : nowMs + retryAfterMs;
    this.#deniedUntilMs = Math.min(this.#retryAtMs, nowMs + stalenessMs);
  }

  /** There was not so much to be had. */
  refuseShare(untilMs: number): void {
    this.#noShareUntilMs = untilMs;
  }
}

/** What this pace uses in half of a share's time, and a little more. */
function nextSize({ size, left, askedAtMs }: Share, nowMs: number, stalenessMs: number): number {
  const paceForMs = stalenessMs / 2 / Math.max(nowMs - askedAtMs, 1);
  return Math.min(Math.ceil((size - left) * paceForMs * HEADROOM), size * GROWTH);
}
