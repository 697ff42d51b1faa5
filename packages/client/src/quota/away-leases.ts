import { awayResult } from '../limiter/limit-result.js';
import { QuotaLease } from './lease.js';

/** The leases that this process has handed out without the server: at most its share of the limit at once. */
export class AwayLeases {
  readonly #held = new Map<string, number>();
  readonly #maxSubjects: number;
  readonly #retryAfterMs: number;

  constructor(maxSubjects: number, retryAfterMs: number) {
    this.#maxSubjects = maxSubjects;
    this.#retryAfterMs = retryAfterMs;
  }

  acquire(subject: string, limit: number, capacity: number): QuotaLease {
    const held = this.#held.get(subject) ?? 0;
    const success = held < capacity && (held > 0 || this.#held.size < this.#maxSubjects);
    const remaining = success ? Math.max(capacity - held - 1, 0) : 0;
    const result = {
      ...awayResult(limit, { success, remaining, untilMs: Number.POSITIVE_INFINITY }),
      retryAfterMs: success ? 0 : this.#retryAfterMs,
    };
    if (!success) return new QuotaLease(result, undefined);
    this.#held.set(subject, held + 1);
    return new QuotaLease(result, undefined, () => {
      const left = this.#held.get(subject)! - 1;
      if (left > 0) this.#held.set(subject, left);
      else this.#held.delete(subject);
    });
  }
}
