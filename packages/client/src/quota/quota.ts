/// <reference lib="esnext.disposable" preserve="true" />
import '../contract/dispose-symbol.js';
import { ConnectionError } from '../contract/errors.js';
import type { QuotaDecision } from '../contract/quota.js';
import { AwayPolicy } from '../limiter/away-policy.js';
import { entryOf } from '../limiter/bounded-entries.js';
import { awayResult, checkCost, decidedResult, type LimitResult } from '../limiter/limit-result.js';
import { AwayLeases } from './away-leases.js';
import { QuotaLease } from './lease.js';
import { LocalShare } from './local-share.js';
import { PolicyCache } from './policy-cache.js';
import type { AcquireOptions, QuotaBackend, QuotaOptions, ReserveOptions } from './quota-options.js';
import { QuotaReservation } from './reservation.js';
import { SHARE_TTL_MS, ShareRefills } from './share-refills.js';

const DEFAULT_PROCESS_SHARE = 0.1;
const DEFAULT_STALENESS_MS = 250;
const DEFAULT_TIMEOUT_MS = 250;
const DEFAULT_MAX_SUBJECTS = 10_000;
const DEFAULT_RESERVATION_MS = 60_000;
const DEFAULT_LEASE_MS = 30_000;
/** The server's own default for a policy without a wait. */
const USUAL_WAIT_MS = 1_000;
/** How often a denied request is asked again after this process has given back tokens of its own. */
const MAX_ATTEMPTS = 3;

/**
 * An exact limit, answered in the process where it can be. For subjects in use the process takes tokens ahead, in
 * shares that follow the use, and spends them without asking; tokens that it has not used come back after
 * `stalenessMs`. Every token that it admits was taken out of the limit before, in the window it is admitted in, so the
 * limit is never passed: a process that is killed has wasted its share, and not spent it twice.
 */
export class Quota {
  readonly name: string;
  readonly #client: QuotaBackend;
  readonly #stalenessMs: number;
  readonly #timeoutMs: number;
  readonly #waitMs: number | undefined;
  readonly #maxSubjects: number;
  readonly #away: AwayPolicy;
  readonly #awayLeases: AwayLeases;
  readonly #policies: PolicyCache;
  readonly #refills: ShareRefills;
  readonly #locals = new Map<string, LocalShare>();

  constructor(options: QuotaOptions) {
    const { name, client, processShare = DEFAULT_PROCESS_SHARE, stalenessMs = DEFAULT_STALENESS_MS } = options;
    if (!(processShare >= 0 && processShare <= 1)) {
      throw new RangeError(`a process may hold from 0 to 1 of what there is, not ${processShare}`);
    }
    if (!(stalenessMs > 0 && stalenessMs <= SHARE_TTL_MS / 2)) {
      throw new RangeError(`tokens may lie unused for up to ${SHARE_TTL_MS / 2} ms, not for ${stalenessMs}`);
    }
    this.name = name;
    this.#client = client;
    this.#stalenessMs = stalenessMs;
    this.#timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    this.#waitMs = options.waitMs;
    this.#maxSubjects = options.maxSubjects ?? DEFAULT_MAX_SUBJECTS;
    this.#away = new AwayPolicy(options.whenAway, this.#maxSubjects);
    this.#awayLeases = new AwayLeases(this.#maxSubjects, stalenessMs);
    this.#policies = new PolicyCache(options.policy, () => client.quotaPolicy(name, this.#callOptions()));
    this.#refills = new ShareRefills(name, client, processShare, stalenessMs);
  }

  /** 0 until it is known. */
  get limit(): number {
    return this.#policies.policy.limit;
  }

  /** 0 where the quota has none, and until it is known. */
  get windowMs(): number {
    return this.#policies.policy.windowMs;
  }

  /** Takes the cost if there is enough. Rejects only where the request itself is wrong. */
  async take(subject: string, cost = 1): Promise<LimitResult> {
    return this.tryTake(subject, cost) ?? this.#ask(subject, cost);
  }

  /** The same without a promise, where this process can answer alone; undefined where the server must be asked. */
  tryTake(subject: string, cost = 1): LimitResult | undefined {
    checkCost(cost, 1);
    const local = this.#locals.get(subject);
    if (local === undefined) return undefined;
    const nowMs = performance.now();
    if (!local.take(cost, nowMs)) return local.isDenied(nowMs, cost) ? this.#result(local, false, nowMs) : undefined;
    this.#refills.request(local, nowMs);
    return this.#result(local, true, nowMs);
  }

  /**
   * Takes an estimate of a cost that is known only afterwards. `await using reservation = await quota.reserve(…)`, then
   * `reservation.commit(actual)`: a reservation that was not committed when its block ends comes back.
   */
  async reserve(subject: string, estimate: number, options: ReserveOptions = {}): Promise<QuotaReservation> {
    checkCost(estimate, 1);
    const { ttlMs = DEFAULT_RESERVATION_MS, ...given } = options;
    const reserved = await this.#decide(subject, () =>
      this.#client.quotaReserve(this.name, subject, estimate, ttlMs, { ...this.#callOptions(), ...given }),
    );
    const result = reserved === undefined ? this.#awayResult(subject, estimate) : this.#resultOf(reserved);
    return new QuotaReservation(result, reserved?.reservation, this.#client);
  }

  /**
   * A lease of a quota that was defined with a lease in place of a window. It is renewed in the background until it is
   * released: `await using lease = await quota.acquire(…)`.
   */
  async acquire(subject: string, { ttlMs: given, ...options }: AcquireOptions = {}): Promise<QuotaLease> {
    let askedAtMs = 0;
    let ttlMs = given ?? DEFAULT_LEASE_MS;
    const acquired = await this.#decide(subject, async () => {
      // The policy says how long a lease may be.
      if (given === undefined) await this.#policies.refresh();
      ttlMs = given ?? Math.min(DEFAULT_LEASE_MS, this.#policies.policy.leaseMs || DEFAULT_LEASE_MS);
      askedAtMs = performance.now();
      return this.#client.quotaAcquire(this.name, subject, ttlMs, { ...this.#callOptions(), ...options });
    });
    if (acquired === undefined) return this.#awayLeases.acquire(subject, this.limit, this.#away.capacity(this.limit));
    const { lease: id } = acquired;
    const held = id === undefined ? undefined : { id, ttlMs, askedAtMs, backend: this.#client };
    return new QuotaLease(this.#resultOf(acquired), held);
  }

  /** Gives back all tokens that are held and not spent, and takes none ahead any more. The client stays open. */
  async close(): Promise<void> {
    const refilling = [...this.#locals.values()].map((local) => local.refilling);
    this.#locals.clear();
    await Promise.all([...refilling, this.#refills.close()]);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #ask(subject: string, cost: number): Promise<LimitResult> {
    // A share of a subject that is dropped from the map is given back when its time is over.
    const local = entryOf(this.#locals, subject, this.#maxSubjects, (name) => new LocalShare(name));
    local.noteAsked(cost, performance.now(), this.#stalenessMs);
    const decision = await this.#decide(subject, () =>
      this.#client.quotaTake(this.name, subject, cost, this.#callOptions()),
    );
    if (decision === undefined) return this.#awayResult(subject, cost);
    const nowMs = performance.now();
    local.view(decision);
    if (decision.allowed) this.#refills.request(local, nowMs);
    else local.deny(cost, decision.retryAfterMs, nowMs, this.#stalenessMs);
    return this.#result(local, decision.allowed, nowMs);
  }

  /**
   * The server's decision; undefined where the server is away. Tokens that are missing may be held by this process: it
   * gives them back and asks again.
   */
  async #decide<Decision extends QuotaDecision>(
    subject: string,
    ask: () => Promise<Decision>,
  ): Promise<Decision | undefined> {
    for (let attempt = 1; ; attempt++) {
      if (this.#client.isAway) return undefined;
      try {
        const [decision] = await Promise.all([ask(), this.#policies.refresh()]);
        if (decision.allowed || attempt === MAX_ATTEMPTS) return decision;
        const local = this.#locals.get(subject);
        await local?.refilling;
        if (local?.share === undefined || local.share.left === 0) return decision;
        await this.#refills.giveBack(local);
      } catch (error) {
        if (!(error instanceof ConnectionError)) throw error;
        return undefined;
      }
    }
  }

  #callOptions(): { readonly timeoutMs: number; readonly waitMs?: number } {
    const waitMs = this.#waitMs;
    const timeoutMs = this.#timeoutMs + (waitMs ?? this.#policies.policy.waitMs ?? USUAL_WAIT_MS);
    return waitMs === undefined ? { timeoutMs } : { timeoutMs, waitMs };
  }

  #resultOf({ allowed, remainingEverywhere, resetAfterMs, retryAfterMs }: QuotaDecision): LimitResult {
    const reset = resetAfterMs < 0 ? Number.POSITIVE_INFINITY : Date.now() + resetAfterMs;
    return decidedResult(allowed, this.limit, remainingEverywhere, reset, retryAfterMs);
  }

  #awayResult(subject: string, cost: number): LimitResult {
    return awayResult(this.limit, this.#away.decide(subject, cost, performance.now(), this));
  }

  #result(local: LocalShare, success: boolean, nowMs: number): LimitResult {
    const retryAfterMs = success ? 0 : local.retryAfterMs(nowMs);
    return decidedResult(success, this.limit, local.remaining, local.resetAtMs, retryAfterMs);
  }
}
