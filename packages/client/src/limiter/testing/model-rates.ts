import { ConnectionError } from '../../contract/errors.js';
import type { RateDecision } from '../../contract/rate.js';
import type { RateBackend } from '../rate-limiter.js';

/** A server that counts in one window without an end, and records what the limiter sends. It can be away. */
export class ModelRates implements RateBackend {
  readonly counts: Map<string, number>;
  asked = 0;
  reported: number[] = [];
  away: 'no' | 'not sent' | 'sent' | 'known' = 'no';

  /** Backends with the same counts are clients of one server. */
  constructor(counts = new Map<string, number>()) {
    this.counts = counts;
  }

  get isAway(): boolean {
    return this.away === 'known';
  }

  async rateLimit(key: string, limit: number, windowMs: number, cost: number): Promise<RateDecision> {
    this.asked++;
    this.#arrive();
    const allowed = this.#count(key) + cost <= limit;
    if (allowed) this.counts.set(key, this.#count(key) + cost);
    return this.#decision(key, limit, allowed, allowed ? 0 : cost > limit ? -1 : windowMs);
  }

  async rateAdd(key: string, limit: number, _windowMs: number, amount: number): Promise<RateDecision> {
    this.reported.push(amount);
    this.#arrive();
    this.counts.set(key, this.#count(key) + amount);
    return this.#decision(key, limit, this.#count(key) <= limit, 0);
  }

  #arrive(): void {
    if (this.away !== 'no') throw new ConnectionError('away', this.away === 'sent');
  }

  #count(key: string): number {
    return this.counts.get(key) ?? 0;
  }

  #decision(key: string, limit: number, allowed: boolean, retryAfterMs: number): RateDecision {
    return { allowed, limit, remaining: Math.max(limit - this.#count(key), 0), resetAfterMs: 3_600_000, retryAfterMs };
  }
}
