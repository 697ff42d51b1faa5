import type { CallOptions, RateDecision } from '../commands.js';
import { ConnectionError } from '../errors.js';
import { AwayPolicy, type WhenAway } from './away-policy.js';
import { awayResult, checkCost, type LimitResult } from './limit-result.js';
import { LimiterCell } from './limiter-cell.js';

/** Who counts for everybody: QuotadbClient, over RESP, or QuotadbHttpClient. */
export interface RateBackend {
  /** Known to be out of reach: there is no use in asking. */
  readonly isAway: boolean;
  rateLimit(key: string, limit: number, windowMs: number, cost: number, options?: CallOptions): Promise<RateDecision>;
  rateAdd(key: string, limit: number, windowMs: number, amount: number, options?: CallOptions): Promise<RateDecision>;
}

export interface RateLimiterOptions {
  readonly client: RateBackend;
  /** At most this much in any sliding window of this length. */
  readonly limit: number;
  readonly windowMs: number;
  /** What to do while the server is away: let everything through, nothing, or this process's share of the limit. */
  readonly whenAway: WhenAway;
  /** Put in front of every key, so that several limiters can share a server. */
  readonly prefix?: string;
  /**
   * Which part of what remains this process may admit by itself between two words with the server; 0.1 if left out. 0 asks
   * the server every time, which is exact.
   */
  readonly processShare?: number;
  /** How old what this process knows may be, and how soon it tells what it admitted; 100 ms if left out. */
  readonly stalenessMs?: number;
  /** How long to wait for the server before it counts as away; 250 ms if left out. */
  readonly timeoutMs?: number;
  /** Keys that are remembered at once. */
  readonly maxKeys?: number;
}

const DEFAULT_PROCESS_SHARE = 0.1;
const DEFAULT_STALENESS_MS = 100;
const DEFAULT_TIMEOUT_MS = 250;
const DEFAULT_MAX_KEYS = 10_000;

/**
 * Limits in three tiers: this process, the server of the region, the other regions behind it. Where what the process knows is
 * fresh, and the limit is not near, it answers by itself and tells the server a moment later; otherwise it asks. It only ever
 * tells what it admitted itself, never what it was told.
 *
 * What processes have admitted and not told yet is what can be admitted too much: of each at most its share of what remained
 * when it last heard from the server, and at most what comes in during `stalenessMs`. The nearer the limit, the less that is; where a
 * share comes to less than one request, every request is asked for. A key that is denied stays denied here, without a word to the server, until the
 * time the server said.
 */
export class RateLimiter {
  readonly limit: number;
  readonly windowMs: number;
  readonly #client: RateBackend;
  readonly #prefix: string;
  readonly #share: number;
  readonly #stalenessMs: number;
  readonly #call: CallOptions;
  readonly #maxKeys: number;
  readonly #away: AwayPolicy;
  readonly #cells = new Map<string, LimiterCell>();
  #dirty: LimiterCell[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(options: RateLimiterOptions) {
    const { limit, windowMs } = options;
    if (!Number.isSafeInteger(limit) || limit < 0)
      throw new RangeError(`a limit is an integer from 0 on, not ${limit}`);
    if (!Number.isSafeInteger(windowMs) || windowMs < 1) {
      throw new RangeError(`a window is a whole number of milliseconds from 1 on, not ${windowMs}`);
    }
    this.limit = limit;
    this.windowMs = windowMs;
    this.#client = options.client;
    this.#prefix = options.prefix ?? '';
    this.#share = options.processShare ?? DEFAULT_PROCESS_SHARE;
    this.#stalenessMs = options.stalenessMs ?? DEFAULT_STALENESS_MS;
    this.#call = { timeoutMs: options.timeoutMs ?? DEFAULT_TIMEOUT_MS };
    this.#maxKeys = options.maxKeys ?? DEFAULT_MAX_KEYS;
    this.#away = new AwayPolicy(options.whenAway, this.#maxKeys);
  }

  /** Counts if it is within the limit, and says whether it is. Rejects only for what is wrong with the request itself. */
  async limitFor(key: string, cost = 1): Promise<LimitResult> {
    return this.tryLimit(key, cost) ?? this.#ask(key, cost);
  }

  /** The same, at once, where this process can answer by itself; undefined where the server must be asked. */
  tryLimit(key: string, cost = 1): LimitResult | undefined {
    checkCost(cost, 0);
    const cell = this.#cells.get(key);
    if (cell === undefined) return undefined;
    const nowMs = performance.now();
    if (cell.isDenied(nowMs, cost)) return this.#result(cell, false, nowMs);
    if (nowMs - cell.viewedAtMs > this.#stalenessMs || !cell.take(cost, nowMs)) return undefined;
    if (cell.pending === cost) this.#markDirty(cell);
    return this.#result(cell, true, nowMs);
  }

  /** Tells the server what has been admitted and not told yet. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#client.isAway) {
      // Asking would only fill the client's queue; it is told when the server is back.
      if (this.#dirty.length > 0) this.#scheduleFlush();
      return;
    }
    const dirty = this.#dirty;
    this.#dirty = [];
    await Promise.all(dirty.map((cell) => this.#tell(cell)));
  }

  /** Tells the rest. The client is its owner's to close. */
  async close(): Promise<void> {
    await this.flush();
    clearTimeout(this.#timer);
    this.#cells.clear();
  }

  async #ask(key: string, cost: number): Promise<LimitResult> {
    if (this.#client.isAway) return this.#awayResult(key, cost);
    const cell = this.#cellOf(key);
    try {
      // In this order on one connection: the server knows of all that was admitted here when it decides.
      const told = cell.pending > 0 ? this.#tell(cell) : undefined;
      const askedAtMs = performance.now();
      const decided = this.#client.rateLimit(this.#prefix + key, this.limit, this.windowMs, cost, this.#call);
      await told;
      const decision = await decided;
      cell.view(decision, askedAtMs, this.#share, decision.allowed ? 0 : cost);
      return this.#result(cell, decision.allowed, performance.now());
    } catch (error) {
      if (!(error instanceof ConnectionError)) throw error;
      return this.#awayResult(key, cost);
    }
  }

  async #tell(cell: LimiterCell): Promise<void> {
    const sentAtMs = performance.now();
    const amount = cell.beginTelling(sentAtMs, this.windowMs);
    if (amount === 0) return;
    try {
      const decision = await this.#client.rateAdd(
        this.#prefix + cell.key,
        this.limit,
        this.windowMs,
        amount,
        this.#call,
      );
      cell.endTelling(amount);
      cell.view(decision, sentAtMs, this.#share, 0);
    } catch (error) {
      // What may have arrived is not told again: a request must not be charged twice.
      const wasNotSent = error instanceof ConnectionError && !error.isSent;
      cell.endTelling(amount, wasNotSent);
      if (cell.pending > 0) this.#markDirty(cell);
    }
  }

  #awayResult(key: string, cost: number): LimitResult {
    const nowMs = performance.now();
    const decision = this.#away.decide(key, cost, nowMs, this);
    if (decision.success && cost > 0) {
      // It is counted where everybody counts as soon as that is possible.
      const cell = this.#cellOf(key);
      cell.add(cost, nowMs);
      if (cell.pending === cost) this.#markDirty(cell);
    }
    return awayResult(this.limit, decision);
  }

  #result(cell: LimiterCell, success: boolean, nowMs: number): LimitResult {
    return {
      success,
      limit: this.limit,
      remaining: cell.left,
      reset: cell.resetAtMs,
      retryAfterMs: success ? 0 : cell.retryAfterMs(nowMs),
      reason: success ? 'within' : 'limited',
    };
  }

  #markDirty(cell: LimiterCell): void {
    // More than this is there only while the server is away. A key beyond it is told when it is asked for again.
    if (this.#dirty.length >= this.#maxKeys) return;
    this.#dirty.push(cell);
    if (this.#timer === undefined) this.#scheduleFlush();
    if (this.#dirty.length >= this.#maxKeys && !this.#client.isAway) void this.flush();
  }

  #scheduleFlush(): void {
    // Half of the staleness to tell, half for the way.
    this.#timer = setTimeout(() => void this.flush(), this.#stalenessMs / 2);
    this.#timer.unref();
  }

  #cellOf(key: string): LimiterCell {
    let cell = this.#cells.get(key);
    if (cell === undefined) {
      cell = new LimiterCell(key);
      if (this.#cells.size >= this.#maxKeys) this.#forgetOne();
      this.#cells.set(key, cell);
    }
    return cell;
  }

  /** The one that has been known for longest. What it has not told yet it tells all the same: it is among the dirty. */
  #forgetOne(): void {
    for (const key of this.#cells.keys()) {
      this.#cells.delete(key);
      return;
    }
  }
}
