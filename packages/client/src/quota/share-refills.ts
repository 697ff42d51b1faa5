import { type BackgroundTimer, startBackgroundTimer } from '../contract/background-timer.js';
import type { LocalShare, Share } from './local-share.js';
import type { QuotaBackend } from './quota-options.js';

/** A share is settled long before this. One that is not counts as spent. */
export const SHARE_TTL_MS = 10_000;
/**
 * No request waits for a refill or a settlement, so a late reply is better than a share that is given up and wasted.
 */
const BACKGROUND_TIMEOUT_MS = 5_000;
/**
 * Shares are asked for one at a time, and each is followed by a pause of this many times its round trip: a reservation
 * delays the takes behind it on the connection, so with many subjects only the busiest get shares.
 */
const PAUSE_FACTOR = 4;

/** Takes shares for subjects ahead of requests, and gives back what was not spent of them, in the background. */
export class ShareRefills {
  readonly #name: string;
  readonly #client: QuotaBackend;
  readonly #processShare: number;
  readonly #stalenessMs: number;
  /** The subjects that hold a share. */
  readonly #holding = new Set<LocalShare>();
  #timer: BackgroundTimer | undefined;
  /** From when on the next share may be asked for; Infinity during a refill. */
  #nextAtMs = Number.NEGATIVE_INFINITY;
  #isClosed = false;

  constructor(name: string, client: QuotaBackend, processShare: number, stalenessMs: number) {
    this.#name = name;
    this.#client = client;
    this.#processShare = processShare;
    this.#stalenessMs = stalenessMs;
  }

  /** Asks for the next share where it is time for one. */
  request(local: LocalShare, nowMs: number): void {
    if (nowMs < this.#nextAtMs) return;
    const size = local.wanted(nowMs, this.#stalenessMs, this.#processShare);
    if (size > 0 && !this.#isClosed && !this.#client.isAway) local.refilling = this.#refill(local, size);
  }

  giveBack(local: LocalShare): Promise<void> {
    this.#holding.delete(local);
    const share = local.letGo();
    return share === undefined ? Promise.resolve() : this.#settle(share);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await Promise.all([...this.#holding].map((local) => this.giveBack(local)));
  }

  async #refill(local: LocalShare, size: number): Promise<void> {
    const askedAtMs = performance.now();
    this.#nextAtMs = Number.POSITIVE_INFINITY;
    try {
      const reserved = await this.#client.quotaReserve(this.#name, local.subject, size, SHARE_TTL_MS, {
        timeoutMs: BACKGROUND_TIMEOUT_MS,
        // The tokens of other regions are for requests that need them.
        waitMs: 0,
        // If this process dies, the tokens it spent must stay spent.
        lapse: 'charge',
      });
      const { reservation } = reserved;
      if (reservation === undefined) {
        local.view(reserved);
        local.refuseShare(performance.now() + this.#stalenessMs);
        return;
      }
      const before = local.hold({ ...reserved, reservation }, size, askedAtMs, this.#stalenessMs);
      this.#holding.add(local);
      if (before !== undefined) void this.#settle(before);
      if (this.#isClosed) await this.giveBack(local);
      else this.#scheduleSweep();
    } catch {
      // The server is away, or refuses reservations: requests are asked for one by one, and get the error themselves.
      local.refuseShare(performance.now() + this.#stalenessMs);
    } finally {
      const nowMs = performance.now();
      this.#nextAtMs = nowMs + (nowMs - askedAtMs) * PAUSE_FACTOR;
      local.refilling = undefined;
    }
  }

  /** Charges the spent tokens and returns the rest. If the server does not get it, the whole share counts as spent. */
  async #settle({ reservation, size, left }: Share): Promise<void> {
    await this.#client
      .quotaCommit(reservation, size - left, { timeoutMs: BACKGROUND_TIMEOUT_MS })
      .catch(() => undefined);
  }

  #scheduleSweep(): void {
    if (this.#timer !== undefined || this.#isClosed) return;
    this.#timer = startBackgroundTimer(() => this.#sweep(), this.#stalenessMs / 2);
  }

  /** Gives back the shares whose time is over. */
  #sweep(): void {
    this.#timer = undefined;
    const nowMs = performance.now();
    for (const local of this.#holding) {
      if (local.share === undefined || nowMs >= local.share.untilMs) void this.giveBack(local);
    }
    if (this.#holding.size > 0) this.#scheduleSweep();
  }
}
