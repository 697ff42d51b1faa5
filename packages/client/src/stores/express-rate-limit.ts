import { type CommandSender, ExpiringCounts } from './expiring-counts.js';

export interface ExpressRateLimitStoreOptions {
  readonly client: CommandSender;
  /** Put in front of every key; `express:` if left out. Limiters that must count apart need different prefixes. */
  readonly prefix?: string;
}

interface ClientRateLimitInfo {
  totalHits: number;
  resetTime: Date | undefined;
}

/** A store for `express-rate-limit`: `rateLimit({ store: new ExpressRateLimitStore({ client }) })`. */
export class ExpressRateLimitStore {
  /** The counts are shared with other processes. */
  readonly localKeys = false;
  readonly prefix: string;
  readonly #counts: ExpiringCounts;
  #windowMs = 60_000;

  constructor({ client, prefix = 'express:' }: ExpressRateLimitStoreOptions) {
    this.prefix = prefix;
    this.#counts = new ExpiringCounts(client, prefix);
  }

  init(options: { readonly windowMs: number }): void {
    this.#windowMs = options.windowMs;
  }

  async increment(key: string): Promise<ClientRateLimitInfo> {
    return infoOf(await this.#counts.hit(key, this.#windowMs));
  }

  async get(key: string): Promise<ClientRateLimitInfo | undefined> {
    const found = await this.#counts.read(key);
    return found === undefined ? undefined : infoOf(found);
  }

  decrement(key: string): Promise<void> {
    return this.#counts.takeBack(key);
  }

  resetKey(key: string): Promise<void> {
    return this.#counts.delete(key);
  }
}

function infoOf({ count, leftMs }: { count: number; leftMs: number }): ClientRateLimitInfo {
  return { totalHits: count, resetTime: new Date(Date.now() + leftMs) };
}
