import { type BackgroundTimer, startBackgroundTimer } from '../contract/background-timer.js';
import { ConnectionError } from '../contract/errors.js';
import type { CallOptions, RateDecision } from '../contract/rate.js';
import { AwayPolicy, type WhenAway } from './away-policy.js';
import { entryOf } from './bounded-entries.js';
import { awayResult, checkCost, decidedResult, type LimitResult } from './limit-result.js';
import { LocalCounter } from './local-counter.js';

/** The server that counts for all processes: QuotadbClient, over RESP, or QuotadbHttpClient. */
export interface RateBackend {
  /** The server is known to be out of reach; a request would only wait. */
  readonly isAway: boolean;
  rateLimit(key: string, limit: number, windowMs: number, cost: number, options?: CallOptions): Promise<RateDecision>;
  rateAdd(key: string, limit: number, windowMs: number, amount: number, options?: CallOptions): Promise<RateDecision>;
}

export interface RateLimiterOptions {
  readonly client: RateBackend;
  /** At most this much in any sliding window of this length. */
  readonly limit: number;
  readonly windowMs: number;
  /** While the server is away: admit all requests, none, or this process's share of the limit. */
  readonly whenAway: WhenAway;
  /** Put in front of every key, so that several limiters can share a server. */
  readonly prefix?: string;
  /**
   * Which part of the remaining amount this process may admit between two exchanges with the server; 0.1 if left out.
   * 0 asks the server every time, which is exact.
   */
  readonly processShare?: number;
  /** How old the knowledge of this process may be, and how soon it reports what it admitted; 100 ms if left out. */
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
 * Limits in three tiers: this process, the server of the region, the other regions behind it. Where the process's
 * knowledge is fresh and the limit is not near, it answers alone and reports to the server a moment later; otherwise it
 * asks. It reports its own admissions only.
 *
 * Admissions that are not reported yet can exceed the limit: of each process at most its share of the remaining amount
 * in the server's last answer, and at most what it admits during `stalenessMs`. That shrinks as the limit comes near;
 * where a share is less than one request, every request is asked for. A denied key stays denied here, without asking,
 * until the time that the server named.
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
  readonly #counters = new Map<string, LocalCounter>();
  /** Counters with something to report. */
  #dirty: LocalCounter[] = [];
  #timer: BackgroundTimer | undefined;

  constructor(options: RateLimiterOptions) {
    const { limit, windowMs } = options;
    if (!Number.isSafeInteger(limit) || limit < 0) {
      throw new RangeError(`a limit is an integer from 0 on, not ${limit}`);
    }
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

  /** Counts the request if it is within the limit. Rejects only where the request itself is wrong. */
  async limitFor(key: string, cost = 1): Promise<LimitResult> {
    return this.tryLimit(key, cost) ?? this.#ask(key, cost);
  }

  /** The same without a promise, where this process can answer alone; undefined where the server must be asked. */
  tryLimit(key: string, cost = 1): LimitResult | undefined {
    checkCost(cost, 0);
    const counter = this.#counters.get(key);
    if (counter === undefined) return undefined;
    const nowMs = performance.now();
    if (counter.isDenied(nowMs, cost)) return this.#result(counter, false, nowMs);
    if (nowMs - counter.viewedAtMs > this.#stalenessMs || !counter.take(cost, nowMs)) return undefined;
    if (counter.unreported === cost) this.#markDirty(counter);
    return this.#result(counter, true, nowMs);
  }

  /** Reports all admissions to the server that are not reported yet. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#client.isAway) {
      // A report now would only fill the client's queue.
      if (this.#dirty.length > 0) this.#scheduleFlush();
      return;
    }
    const dirty = this.#dirty;
    this.#dirty = [];
    await Promise.all(dirty.map((counter) => this.#report(counter)));
  }

  /** Reports the rest. The client stays open: it belongs to the caller. */
  async close(): Promise<void> {
    await this.flush();
    clearTimeout(this.#timer);
    this.#counters.clear();
  }

  async #ask(key: string, cost: number): Promise<LimitResult> {
    if (this.#client.isAway) return this.#awayResult(key, cost);
    const counter = this.#counterOf(key);
    try {
      // In this order on one connection: the server knows all admissions of this process when it decides.
      const reported = counter.unreported > 0 ? this.#report(counter) : undefined;
      const askedAtMs = performance.now();
      const decided = this.#client.rateLimit(this.#prefix + key, this.limit, this.windowMs, cost, this.#call);
      await reported;
      const decision = await decided;
      counter.view(decision, askedAtMs, this.#share, decision.allowed ? 0 : cost);
      return this.#result(counter, decision.allowed, performance.now());
    } catch (error) {
      if (!(error instanceof ConnectionError)) throw error;
      return this.#awayResult(key, cost);
    }
  }

  async #report(counter: LocalCounter): Promise<void> {
    const sentAtMs = performance.now();
    const amount = counter.beginReport(sentAtMs, this.windowMs);
    if (amount === 0) return;
    const key = this.#prefix + counter.key;
    try {
      const decision = await this.#client.rateAdd(key, this.limit, this.windowMs, amount, this.#call);
      counter.endReport(amount);
      counter.view(decision, sentAtMs, this.#share, 0);
    } catch (error) {
      // A report that may have arrived is not repeated: a request must not be charged twice.
      const wasNotSent = error instanceof ConnectionError && !error.isSent;
      counter.endReport(amount, wasNotSent);
      if (counter.unreported > 0) this.#markDirty(counter);
    }
  }

  #awayResult(key: string, cost: number): LimitResult {
    const nowMs = performance.now();
    const decision = this.#away.decide(key, cost, nowMs, this);
    if (decision.success && cost > 0) {
      // The server counts it too, as soon as it is back.
      const counter = this.#counterOf(key);
      counter.add(cost, nowMs);
      if (counter.unreported === cost) this.#markDirty(counter);
    }
    return awayResult(this.limit, decision);
  }

  #result(counter: LocalCounter, success: boolean, nowMs: number): LimitResult {
    const retryAfterMs = success ? 0 : counter.retryAfterMs(nowMs);
    return decidedResult(success, this.limit, counter.remaining, counter.resetAtMs, retryAfterMs);
  }

  #markDirty(counter: LocalCounter): void {
    // More than this are dirty only while the server is away. A further key is reported when it is next asked for.
    if (this.#dirty.length >= this.#maxKeys) return;
    this.#dirty.push(counter);
    if (this.#timer === undefined) this.#scheduleFlush();
    if (this.#dirty.length >= this.#maxKeys && !this.#client.isAway) void this.flush();
  }

  #scheduleFlush(): void {
    // Half of the staleness before the report, half for its way.
    this.#timer = startBackgroundTimer(() => void this.flush(), this.#stalenessMs / 2);
  }

  /** A counter that is dropped from the map is still reported: it is among the dirty ones. */
  #counterOf(key: string): LocalCounter {
    return entryOf(this.#counters, key, this.#maxKeys, (name) => new LocalCounter(name));
  }
}
