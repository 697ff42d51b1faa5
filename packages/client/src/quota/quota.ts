import '../dispose-symbol.js';
import type { CallOptions } from '../commands.js';
import { ConnectionError } from '../errors.js';
import { AwayPolicy, type WhenAway } from '../limiter/away-policy.js';
import { awayResult, checkCost, type LimitResult } from '../limiter/limit-result.js';
import type {
  QuotaAcquired,
  QuotaDecision,
  QuotaPolicy,
  QuotaReserved,
  QuotaReserveOptions,
  QuotaTakeOptions,
} from '../quota-commands.js';
import { type LeaseKeeper, QuotaLease } from './lease.js';
import { LocalShare, type Share } from './local-share.js';
import { QuotaReservation, type ReservationKeeper } from './reservation.js';

/** Who holds the limit: QuotadbClient, over RESP, or QuotadbHttpClient. */
export interface QuotaBackend extends ReservationKeeper, LeaseKeeper {
  /** Known to be out of reach: there is no use in asking. */
  readonly isAway: boolean;
  quotaPolicy(name: string, options?: CallOptions): Promise<QuotaPolicy>;
  quotaTake(name: string, subject: string, cost: number, options?: QuotaTakeOptions): Promise<QuotaDecision>;
  quotaReserve(
    name: string,
    subject: string,
    estimate: number,
    ttlMs: number,
    options?: QuotaReserveOptions,
  ): Promise<QuotaReserved>;
  quotaAcquire(name: string, subject: string, ttlMs: number, options?: QuotaTakeOptions): Promise<QuotaAcquired>;
}

export interface QuotaOptions {
  readonly client: QuotaBackend;
  /** The name it was defined by. */
  readonly name: string;
  /** What to do while the server is away and nothing is held here: let everything through, nothing, or a share of the limit. */
  readonly whenAway: WhenAway;
  /** The limit and its window, for users who may not ask (QUOTA.INFO); a window of 0 never ends. */
  readonly policy?: { readonly limit: number; readonly windowMs: number };
  /**
   * Which part of what the region holds this process may take ahead, of each subject; 0.1 if left out. 0 asks the server
   * every time.
   */
  readonly processShare?: number;
  /** How long tokens may lie here unused, and how old a denial may be that is repeated here; 250 ms if left out. */
  readonly stalenessMs?: number;
  /** How long to wait for what other regions hold; what the policy says if left out. */
  readonly waitMs?: number;
  /** How long to wait for the server, beyond that, before it counts as away; 250 ms if left out. */
  readonly timeoutMs?: number;
  /** Subjects that are remembered at once. */
  readonly maxSubjects?: number;
}

export interface ReserveOptions {
  /** After so long without a word the reservation lapses; 60,000 ms if left out. */
  readonly ttlMs?: number;
  /** What becomes of it then: it comes back, unless it is to count as used. */
  readonly lapse?: 'refund' | 'charge';
  readonly signal?: AbortSignal;
}

export interface AcquireOptions {
  /** How long the lease holds without a word from this process; 30,000 ms, or what the quota allows, if left out. */
  readonly ttlMs?: number;
  readonly signal?: AbortSignal;
}

const DEFAULT_PROCESS_SHARE = 0.1;
const DEFAULT_STALENESS_MS = 250;
const DEFAULT_TIMEOUT_MS = 250;
const DEFAULT_MAX_SUBJECTS = 10_000;
const DEFAULT_RESERVATION_MS = 60_000;
const DEFAULT_LEASE_MS = 30_000;
/** What the server takes for a policy that says nothing. */
const USUAL_WAIT_MS = 1_000;
/** Limits change seldom; what is told of them may be this old. */
const POLICY_AGE_MS = 10_000;
/** A share is settled long before this; what is not has been spent, for all that anybody knows. */
const SHARE_TTL_MS = 10_000;
/** Nobody waits for a share, nor for its settlement: a reply that is late is worth more than one that was given up on, which is a share wasted. */
const BACKGROUND_TIMEOUT_MS = 5_000;
/**
 * Shares are asked for one at a time, and after each there is a pause of so many times what it took: a reservation holds up the
 * takes behind it on the connection, so with many subjects only those that are most in use get shares.
 */
const REFILL_PAUSE_FACTOR = 4;
/** What this process held itself may have been what was missing, that often. */
const MAXIMUM_ATTEMPTS = 3;

/**
 * An exact limit, answered in the process where it can be. For subjects that are in use the process takes tokens ahead, in
 * shares that follow the use, and spends them without a word to anybody; what it has not used comes back after `stalenessMs`. All
 * that it admits was taken out of the limit before, in the window it is admitted in, so there is never one too many: a
 * process that is killed has wasted its share, and not spent it twice.
 */
export class Quota {
  readonly name: string;
  readonly #client: QuotaBackend;
  readonly #processShare: number;
  readonly #stalenessMs: number;
  readonly #timeoutMs: number;
  readonly #waitMs: number | undefined;
  readonly #maxSubjects: number;
  readonly #whenAway: WhenAway;
  readonly #away: AwayPolicy;
  readonly #awayLeases = new Map<string, number>();
  readonly #isPolicyGiven: boolean;
  #policy: (Pick<QuotaPolicy, 'limit' | 'windowMs'> & Partial<QuotaPolicy>) | undefined;
  #policyAtMs = Number.NEGATIVE_INFINITY;
  #askingPolicy: Promise<void> | undefined;
  readonly #cells = new Map<string, LocalShare>();
  /** Those that hold something. */
  readonly #holding = new Set<LocalShare>();
  #timer: NodeJS.Timeout | undefined;
  /** From when on the next share may be asked for; Infinity while one is. */
  #nextRefillAtMs = Number.NEGATIVE_INFINITY;
  #isClosed = false;

  constructor(options: QuotaOptions) {
    this.name = options.name;
    this.#client = options.client;
    this.#processShare = options.processShare ?? DEFAULT_PROCESS_SHARE;
    this.#stalenessMs = options.stalenessMs ?? DEFAULT_STALENESS_MS;
    this.#timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    this.#waitMs = options.waitMs;
    this.#maxSubjects = options.maxSubjects ?? DEFAULT_MAX_SUBJECTS;
    if (!(this.#processShare >= 0 && this.#processShare <= 1)) {
      throw new RangeError(`a process may hold from 0 to 1 of what there is, not ${this.#processShare}`);
    }
    if (!(this.#stalenessMs > 0 && this.#stalenessMs <= SHARE_TTL_MS / 2)) {
      throw new RangeError(`tokens may lie unused for up to ${SHARE_TTL_MS / 2} ms, not for ${this.#stalenessMs}`);
    }
    this.#whenAway = options.whenAway;
    this.#away = new AwayPolicy(options.whenAway, this.#maxSubjects);
    this.#isPolicyGiven = options.policy !== undefined;
    this.#policy = options.policy;
  }

  /** 0 until it is known. */
  get limit(): number {
    return this.#policy?.limit ?? 0;
  }

  /** 0 where there is none, and until it is known. */
  get windowMs(): number {
    return this.#policy?.windowMs ?? 0;
  }

  /** Takes the cost if there is enough, and says whether there was. Rejects only for what is wrong with the request itself. */
  async take(subject: string, cost = 1): Promise<LimitResult> {
    return this.tryTake(subject, cost) ?? this.#ask(subject, cost);
  }

  /** The same, at once, where this process can answer by itself; undefined where the server must be asked. */
  tryTake(subject: string, cost = 1): LimitResult | undefined {
    checkCost(cost, 1);
    const cell = this.#cells.get(subject);
    if (cell === undefined) return undefined;
    const nowMs = performance.now();
    if (!cell.take(cost, nowMs)) return cell.isDenied(nowMs, cost) ? this.#result(cell, false, nowMs) : undefined;
    this.#refill(cell, nowMs);
    return this.#result(cell, true, nowMs);
  }

  /**
   * Takes an estimate of what is known only afterwards. `await using reservation = await quota.reserve(…)`, and then
   * `reservation.commit(actual)`: what was not committed when its block ends comes back.
   */
  async reserve(subject: string, estimate: number, options: ReserveOptions = {}): Promise<QuotaReservation> {
    checkCost(estimate, 1);
    const { ttlMs = DEFAULT_RESERVATION_MS, lapse, signal } = options;
    const reserved = await this.#whereThereIsEnough(subject, () =>
      this.#client.quotaReserve(this.name, subject, estimate, ttlMs, {
        ...this.#call(),
        ...(lapse !== undefined && { lapse }),
        ...(signal !== undefined && { signal }),
      }),
    );
    if (reserved === undefined)
      return new QuotaReservation(this.#awayResult(subject, estimate), undefined, this.#client);
    return new QuotaReservation(this.#resultOf(reserved), reserved.reservation, this.#client);
  }

  /**
   * One of so many that may be held at once, of a quota that was defined with a lease in place of a window. It is renewed in the
   * background until it is released: `await using lease = await quota.acquire(…)`.
   */
  async acquire(subject: string, options: AcquireOptions = {}): Promise<QuotaLease> {
    const { signal } = options;
    let askedAtMs = 0;
    let ttlMs = options.ttlMs ?? 0;
    const acquired = await this.#whereThereIsEnough(subject, async () => {
      // How long a lease may be, the policy says.
      if (options.ttlMs === undefined) await this.#knowPolicy();
      ttlMs = options.ttlMs ?? Math.min(DEFAULT_LEASE_MS, this.#policy?.leaseMs || DEFAULT_LEASE_MS);
      askedAtMs = performance.now();
      return this.#client.quotaAcquire(this.name, subject, ttlMs, {
        ...this.#call(),
        ...(signal !== undefined && { signal }),
      });
    });
    if (acquired === undefined) return this.#acquireAway(subject);
    const { lease: id } = acquired;
    const held = id === undefined ? undefined : { id, ttlMs, askedAtMs, keeper: this.#client };
    return new QuotaLease(this.#resultOf(acquired), held);
  }

  /** Gives back all that is held and not spent, and takes nothing ahead any more. The client is its owner's to close. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    const refilling = [...this.#cells.values()].map((cell) => cell.refilling);
    this.#cells.clear();
    await Promise.all([...refilling, ...[...this.#holding].map((cell) => this.#giveBack(cell))]);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #ask(subject: string, cost: number): Promise<LimitResult> {
    const cell = this.#cellOf(subject);
    const askedAtMs = performance.now();
    cell.noteAsked(cost, askedAtMs, this.#stalenessMs);
    const decision = await this.#whereThereIsEnough(subject, () =>
      this.#client.quotaTake(this.name, subject, cost, this.#call()),
    );
    if (decision === undefined) return this.#awayResult(subject, cost);
    const nowMs = performance.now();
    cell.view(decision);
    if (decision.allowed) this.#refill(cell, nowMs);
    else cell.deny(cost, decision.retryAfterMs, nowMs, this.#stalenessMs);
    return this.#result(cell, decision.allowed, nowMs);
  }

  /** Undefined where the server is away. What it has too little of may be held here: that goes back, and it is asked again. */
  async #whereThereIsEnough<Decision extends QuotaDecision>(
    subject: string,
    ask: () => Promise<Decision>,
  ): Promise<Decision | undefined> {
    for (let attempt = 1; ; attempt++) {
      if (this.#client.isAway) return undefined;
      try {
        const [decision] = await Promise.all([ask(), this.#knowPolicy()]);
        if (decision.allowed || attempt === MAXIMUM_ATTEMPTS) return decision;
        const cell = this.#cells.get(subject);
        await cell?.refilling;
        if (cell?.share === undefined || cell.share.left === 0) return decision;
        await this.#giveBack(cell);
      } catch (error) {
        if (!(error instanceof ConnectionError)) throw error;
        return undefined;
      }
    }
  }

  /** Asks for the next share where it is time for one. Nobody waits for it. */
  #refill(cell: LocalShare, nowMs: number): void {
    if (nowMs < this.#nextRefillAtMs) return;
    const size = cell.wanted(nowMs, this.#stalenessMs, this.#processShare);
    if (size > 0 && !this.#isClosed && !this.#client.isAway) cell.refilling = this.#takeAhead(cell, size);
  }

  async #takeAhead(cell: LocalShare, size: number): Promise<void> {
    const askedAtMs = performance.now();
    this.#nextRefillAtMs = Number.POSITIVE_INFINITY;
    try {
      const reserved = await this.#client.quotaReserve(this.name, cell.subject, size, SHARE_TTL_MS, {
        timeoutMs: BACKGROUND_TIMEOUT_MS,
        // What other regions hold is for requests that need it.
        waitMs: 0,
        // What is spent here is spent, also when nobody lives to tell.
        lapse: 'charge',
      });
      const { reservation } = reserved;
      if (reservation === undefined) {
        cell.view(reserved);
        cell.refuseShare(performance.now() + this.#stalenessMs);
        return;
      }
      const before = cell.hold({ ...reserved, reservation }, size, askedAtMs, this.#stalenessMs);
      this.#holding.add(cell);
      if (before !== undefined) void this.#settle(before);
      if (this.#isClosed) await this.#giveBack(cell);
      else this.#scheduleSweep();
    } catch {
      // Away, or not allowed to: requests are asked for one by one, and hear it themselves.
      cell.refuseShare(performance.now() + this.#stalenessMs);
    } finally {
      const nowMs = performance.now();
      this.#nextRefillAtMs = nowMs + (nowMs - askedAtMs) * REFILL_PAUSE_FACTOR;
      cell.refilling = undefined;
    }
  }

  #giveBack(cell: LocalShare): Promise<void> {
    this.#holding.delete(cell);
    const share = cell.letGo();
    return share === undefined ? Promise.resolve() : this.#settle(share);
  }

  /** Tells what was spent. Where that does not arrive all of it counts as spent. */
  async #settle({ reservation, size, left }: Share): Promise<void> {
    await this.#client
      .quotaCommit(reservation, size - left, { timeoutMs: BACKGROUND_TIMEOUT_MS })
      .catch(() => undefined);
  }

  #scheduleSweep(): void {
    if (this.#timer !== undefined || this.#isClosed) return;
    this.#timer = setTimeout(() => this.#sweep(), this.#stalenessMs / 2);
    this.#timer.unref();
  }

  /** What nobody spends any more goes back. */
  #sweep(): void {
    this.#timer = undefined;
    const nowMs = performance.now();
    for (const cell of this.#holding) {
      if (cell.share === undefined || nowMs >= cell.share.untilMs) void this.#giveBack(cell);
    }
    if (this.#holding.size > 0) this.#scheduleSweep();
  }

  /** Waited for where nothing is known yet; afterwards it is looked up again now and then, and nobody waits. */
  #knowPolicy(): Promise<void> | undefined {
    if (this.#isPolicyGiven || performance.now() - this.#policyAtMs < POLICY_AGE_MS) return undefined;
    this.#askingPolicy ??= this.#askPolicy();
    if (this.#policy === undefined) return this.#askingPolicy;
    this.#askingPolicy.catch(() => undefined);
    return undefined;
  }

  async #askPolicy(): Promise<void> {
    try {
      this.#policy = await this.#client.quotaPolicy(this.name, this.#call());
      this.#policyAtMs = performance.now();
    } finally {
      this.#askingPolicy = undefined;
    }
  }

  #call(): { readonly timeoutMs: number; readonly waitMs?: number } {
    const waitMs = this.#waitMs;
    const timeoutMs = this.#timeoutMs + (waitMs ?? this.#policy?.waitMs ?? USUAL_WAIT_MS);
    return waitMs === undefined ? { timeoutMs } : { timeoutMs, waitMs };
  }

  /** While the server is away a share is of what is held at once, in this process. */
  #acquireAway(subject: string): QuotaLease {
    const held = this.#awayLeases.get(subject) ?? 0;
    const isWithin = held < this.#awayCapacity() && (held > 0 || this.#awayLeases.size < this.#maxSubjects);
    const remaining = isWithin ? Math.max(this.#awayCapacity() - held - 1, 0) : 0;
    const result = {
      ...awayResult(this.limit, { success: isWithin, remaining, untilMs: Number.POSITIVE_INFINITY }),
      retryAfterMs: isWithin ? 0 : this.#stalenessMs,
    };
    if (!isWithin) return new QuotaLease(result, undefined);
    this.#awayLeases.set(subject, held + 1);
    return new QuotaLease(result, undefined, () => {
      const left = this.#awayLeases.get(subject)! - 1;
      if (left > 0) this.#awayLeases.set(subject, left);
      else this.#awayLeases.delete(subject);
    });
  }

  #awayCapacity(): number {
    const whenAway = this.#whenAway;
    if (typeof whenAway === 'object') return Math.floor(this.limit * whenAway.share);
    return whenAway === 'open' ? Number.POSITIVE_INFINITY : 0;
  }

  #resultOf({ allowed, remainingEverywhere, resetAfterMs, retryAfterMs }: QuotaDecision): LimitResult {
    return {
      success: allowed,
      limit: this.limit,
      remaining: remainingEverywhere,
      reset: resetAfterMs < 0 ? Number.POSITIVE_INFINITY : Date.now() + resetAfterMs,
      retryAfterMs,
      reason: allowed ? 'within' : 'limited',
    };
  }

  #awayResult(subject: string, cost: number): LimitResult {
    return awayResult(this.limit, this.#away.decide(subject, cost, performance.now(), this));
  }

  #result(cell: LocalShare, success: boolean, nowMs: number): LimitResult {
    return {
      success,
      limit: this.limit,
      remaining: cell.remaining,
      reset: cell.resetAtMs,
      retryAfterMs: success ? 0 : cell.retryAfterMs(nowMs),
      reason: success ? 'within' : 'limited',
    };
  }

  #cellOf(subject: string): LocalShare {
    let cell = this.#cells.get(subject);
    if (cell === undefined) {
      cell = new LocalShare(subject);
      if (this.#cells.size >= this.#maxSubjects) this.#forgetOne();
      this.#cells.set(subject, cell);
    }
    return cell;
  }

  /** The one that has been known for longest. What it holds is given back when its time has come: it is among those that hold something. */
  #forgetOne(): void {
    for (const subject of this.#cells.keys()) {
      this.#cells.delete(subject);
      return;
    }
  }
}
