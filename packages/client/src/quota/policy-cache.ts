import type { QuotaPolicy } from '../contract/quota.js';

/** Limits change seldom; what this process knows of one may be this old. */
const MAX_AGE_MS = 10_000;

/** The policy of a quota: given by the caller, or asked for and looked up again now and then. */
export class PolicyCache {
  readonly #ask: () => Promise<QuotaPolicy>;
  readonly #isGiven: boolean;
  #policy: Pick<QuotaPolicy, 'limit' | 'windowMs'> & Partial<QuotaPolicy>;
  #isKnown: boolean;
  #askedAtMs = Number.NEGATIVE_INFINITY;
  #asking: Promise<void> | undefined;

  constructor(given: Pick<QuotaPolicy, 'limit' | 'windowMs'> | undefined, ask: () => Promise<QuotaPolicy>) {
    this.#ask = ask;
    this.#isGiven = this.#isKnown = given !== undefined;
    this.#policy = given ?? { limit: 0, windowMs: 0 };
  }

  /** Limit and window are 0 until they are known. */
  get policy(): Pick<QuotaPolicy, 'limit' | 'windowMs'> & Partial<QuotaPolicy> {
    return this.#policy;
  }

  /** A promise only where the policy is not known yet: a later look-up runs in the background. */
  refresh(): Promise<void> | undefined {
    if (this.#isGiven || performance.now() - this.#askedAtMs < MAX_AGE_MS) return undefined;
    this.#asking ??= this.#lookUp();
    if (!this.#isKnown) return this.#asking;
    this.#asking.catch(() => undefined);
    return undefined;
  }

  async #lookUp(): Promise<void> {
    try {
      this.#policy = await this.#ask();
      this.#isKnown = true;
      this.#askedAtMs = performance.now();
    } finally {
      this.#asking = undefined;
    }
  }
}
