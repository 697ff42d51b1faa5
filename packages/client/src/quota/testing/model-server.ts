import { ConnectionError } from '../../contract/errors.js';
import type { QuotaDecision, QuotaReserved } from '../../contract/quota.js';
import type { QuotaBackend } from '../quota-options.js';

export interface ModelOptions {
  readonly limit: number;
  readonly windowMs: number;
  /** How far the server's clock is from the callers'. */
  readonly skewMs: number;
  readonly random: () => number;
  readonly slowestMs: number;
  /** How often a request or its reply is lost. */
  readonly lossRate: number;
}

interface Reservation {
  readonly window: number;
  readonly size: number;
  readonly lapsesAtMs: number;
  readonly isChargedInTheEnd: boolean;
}

/** The specification of a quota in few lines, over a network that loses and delays messages. */
export class ModelServer {
  options: ModelOptions;
  /** Taken out of the limit, by window. */
  readonly taken = new Map<number, number>();
  /** Of that, for requests which the server decided. */
  readonly decided = new Map<number, number>();
  readonly #reservations = new Map<string, Reservation>();
  #ids = 0;

  constructor(options: ModelOptions) {
    this.options = options;
  }

  get window(): number {
    return Math.floor((Date.now() + this.options.skewMs) / this.options.windowMs);
  }

  /** Reservations that are neither settled nor lapsed. */
  get outstanding(): number {
    return [...this.#reservations.values()].reduce((sum, { size }) => sum + size, 0);
  }

  /** A process that can be killed: it sends no more; messages on their way may still arrive. */
  connect(): QuotaBackend & { kill(): void } {
    let isKilled = false;
    const send = <Result>(arrive: () => Result): Promise<Result> =>
      isKilled ? new Promise(() => undefined) : this.#travel(arrive);
    return {
      kill: () => {
        isKilled = true;
      },
      isAway: false,
      quotaPolicy: () => send(() => ({ ...this.options, leaseMs: 0, waitMs: 0 })),
      quotaTake: (_name, _subject, cost) => send(() => this.#take(cost, this.decided)),
      quotaReserve: (_name, _subject, size, ttlMs, options) =>
        send(() => this.#reserve(size, ttlMs, options?.lapse === 'charge')),
      quotaCommit: (id, actual) => send(() => this.#commit(id, actual)),
      quotaAcquire: () => Promise.reject(new Error('the model has no leases')),
      quotaRenew: () => Promise.reject(new Error('the model has no leases')),
      quotaRelease: () => Promise.reject(new Error('the model has no leases')),
      quotaCancel: (id) => send(() => this.#commit(id, 0).charged === 0),
    };
  }

  async #travel<Result>(arrive: () => Result): Promise<Result> {
    await this.#delay();
    if (this.#isLost()) throw new ConnectionError('lost on the way', true);
    const result = arrive();
    await this.#delay();
    if (this.#isLost()) throw new ConnectionError('the reply was lost', true);
    return result;
  }

  #delay(): Promise<void> {
    return new Promise((resolve) => setTimeout(resolve, Math.floor(this.options.random() * this.options.slowestMs)));
  }

  #isLost(): boolean {
    return this.options.random() < this.options.lossRate;
  }

  #take(cost: number, ...ledgers: Map<number, number>[]): QuotaDecision {
    this.#lapse();
    const { window } = this;
    const { limit, windowMs, skewMs } = this.options;
    const taken = this.taken.get(window) ?? 0;
    const allowed = taken + cost <= limit;
    if (allowed) for (const ledger of [this.taken, ...ledgers]) ledger.set(window, (ledger.get(window) ?? 0) + cost);
    const remaining = limit - taken - (allowed ? cost : 0);
    const resetAfterMs = (window + 1) * windowMs - (Date.now() + skewMs);
    return {
      allowed,
      remainingHere: remaining,
      remainingEverywhere: remaining,
      resetAfterMs,
      retryAfterMs: allowed ? 0 : resetAfterMs,
    };
  }

  #reserve(size: number, ttlMs: number, isChargedInTheEnd: boolean): QuotaReserved {
    const { window } = this;
    const decision = this.#take(size);
    if (!decision.allowed) return { ...decision, reservation: undefined };
    const id = String(++this.#ids);
    this.#reservations.set(id, { window, size, lapsesAtMs: performance.now() + ttlMs, isChargedInTheEnd });
    return { ...decision, reservation: id };
  }

  /** All live as long, so the first is the one that lapses first. */
  #lapse(): void {
    for (const [id, { lapsesAtMs, isChargedInTheEnd }] of this.#reservations) {
      if (lapsesAtMs > performance.now()) return;
      if (isChargedInTheEnd) this.#reservations.delete(id);
      else this.#commit(id, 0);
    }
  }

  #commit(id: string, actual: number): { charged: number; uncharged: number } {
    const reservation = this.#reservations.get(id);
    if (reservation === undefined) return { charged: -1, uncharged: 0 };
    this.#reservations.delete(id);
    const { window, size } = reservation;
    this.taken.set(window, this.taken.get(window)! - (size - actual));
    return { charged: actual, uncharged: 0 };
  }
}
