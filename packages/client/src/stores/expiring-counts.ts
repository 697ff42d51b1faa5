import type { Word } from '../resp/encode.js';
import type { Reply } from '../resp/values.js';

/** The part of QuotadbClient that the stores need. */
export interface CommandSender {
  send(words: readonly Word[]): Promise<Reply>;
}

export interface ExpiringCount {
  readonly count: number;
  /** Until the count begins anew. */
  readonly leftMs: number;
}

/**
 * Counts that begin with their first hit and end a window later, as express-rate-limit and @fastify/rate-limit count.
 * One round trip; the expiry is set with the count or not at all.
 */
export class ExpiringCounts {
  readonly #client: CommandSender;
  readonly #prefix: string;

  constructor(client: CommandSender, prefix: string) {
    this.#client = client;
    this.#prefix = prefix;
  }

  async hit(key: string, windowMs: number): Promise<ExpiringCount> {
    const name = this.#prefix + key;
    const [hit, left] = await Promise.all([
      this.#client.send(['INCREX', name, 'PX', windowMs, 'ENX']),
      this.#client.send(['PTTL', name]),
    ]);
    const [count] = hit as [number];
    return { count, leftMs: Math.max(left as number, 0) };
  }

  async read(key: string): Promise<ExpiringCount | undefined> {
    const name = this.#prefix + key;
    const [count, left] = await Promise.all([this.#client.send(['GET', name]), this.#client.send(['PTTL', name])]);
    return count === null ? undefined : { count: Number(count), leftMs: Math.max(left as number, 0) };
  }

  /** Takes one hit back, not below 0. */
  async takeBack(key: string): Promise<void> {
    await this.#client.send(['INCREX', this.#prefix + key, 'BYINT', -1, 'LBOUND', 0]);
  }

  async delete(key: string): Promise<void> {
    await this.#client.send(['DEL', this.#prefix + key]);
  }
}
