import { checkAmount, checkKey, checkWindow } from '../arguments.js';
import type { WindowCounterStore, WindowExpiry } from '../store.js';
import { type Window, windowEndMs } from '../window.js';
import { type RedisClient, runInOneTrip } from './redis-client.js';

export interface RedisWindowStoreOptions {
  /** An ioredis or node-redis client, connected and closed by whoever made it. */
  readonly client: RedisClient;
  /** What the keys begin with; `window:` if left out. */
  readonly prefix?: string;
  /**
   * How long after its end a count is kept: longer than the clocks of Redis and of its callers differ, or a Redis that
   * is ahead would drop a count while it is still being counted.
   */
  readonly keptForMs?: number;
}

const DEFAULT_KEPT_FOR_MS = 5_000;

/**
 * Counts in Redis, with plain commands: a transaction of INCRBY, PEXPIREAT and GET, sent together and answered
 * together. The count and its expiry are set both or not at all. GET is there because its reply is text: clients make a
 * double of INCRBY's, which is not exact past 2^53.
 *
 * A key is the prefix, the duration and the start, then the key as it was given, so that no two can be confused.
 */
export class RedisWindowStore implements WindowCounterStore {
  readonly #client: RedisClient;
  readonly #prefix: string;
  readonly #keptForMs: number;

  constructor({ client, prefix = 'window:', keptForMs = DEFAULT_KEPT_FOR_MS }: RedisWindowStoreOptions) {
    this.#client = client;
    this.#prefix = prefix;
    this.#keptForMs = keptForMs;
  }

  async increment(key: string, window: Window, amount: number | bigint = 1): Promise<bigint> {
    const name = this.#nameOf(key, window);
    const expiresAtMs = windowEndMs(window) + this.#keptForMs;
    const replies = await runInOneTrip(this.#client, [
      ['incrby', name, String(checkAmount(amount))],
      ['get', name],
      ['pexpireat', name, String(expiresAtMs)],
    ]);
    return BigInt(replies[1] as string);
  }

  async read(key: string, window: Window): Promise<bigint> {
    const [count] = await runInOneTrip(this.#client, [['get', this.#nameOf(key, window)]]);
    return count === null ? 0n : BigInt(count as string);
  }

  async expiry(key: string, window: Window): Promise<WindowExpiry | undefined> {
    const [left] = await runInOneTrip(this.#client, [['pttl', this.#nameOf(key, window)]]);
    if (Number(left) < 0) return undefined;
    return { endMs: windowEndMs(window), remainingMs: Number(left) };
  }

  #nameOf(key: string, window: Window): string {
    const { startMs, durationMs } = checkWindow(window);
    return `${this.#prefix}${durationMs}:${startMs}:${checkKey(key)}`;
  }
}
