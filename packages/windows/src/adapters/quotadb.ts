import { checkAmount, checkKey, checkWindow } from '../window/arguments.js';
import type { WindowCounterStore, WindowExpiry } from '../window/store.js';
import { type Window, windowEndMs } from '../window/window.js';
import { type RedisClient, runCommand } from './redis-client.js';

/** Anything that sends a command and gives back its reply: `@quotadb/client`, ioredis or node-redis. */
export type QuotadbClient = RedisClient | { call(command: string, ...parameters: string[]): Promise<unknown> };

export interface QuotadbWindowStoreOptions {
  /** Connected and closed by the caller. */
  readonly client: QuotadbClient;
}

/**
 * Counts in QuotaDB: one command, one round trip, and the count is that of all regions. The server derives the expiry
 * from the window and keeps a count a few seconds past its end, for regions whose clocks are behind.
 */
export class QuotadbWindowStore implements WindowCounterStore {
  readonly #client: RedisClient;

  constructor({ client }: QuotadbWindowStoreOptions) {
    this.#client = client as RedisClient;
  }

  async increment(key: string, window: Window, amount: number | bigint = 1): Promise<bigint> {
    const { startMs, durationMs } = checkWindow(window);
    const words = ['WINDOW.INCRBY', checkKey(key), `${durationMs}ms`, String(checkAmount(amount))];
    return countOf(await runCommand(this.#client, [...words, 'START', String(startMs)]));
  }

  async read(key: string, window: Window): Promise<bigint> {
    const { startMs, durationMs } = checkWindow(window);
    const words = ['WINDOW.GET', checkKey(key), `${durationMs}ms`, 'START', String(startMs)];
    return countOf(await runCommand(this.#client, words));
  }

  /** Until the end of the window by the clock of the server, which keeps the count a little longer than that. */
  async expiry(key: string, window: Window): Promise<WindowExpiry | undefined> {
    const [count, time] = await Promise.all([this.read(key, window), runCommand(this.#client, ['TIME'])]);
    if (count === 0n) return undefined;
    const [seconds, microseconds] = (time as (string | number)[]).map(Number);
    const nowMs = seconds! * 1_000 + Math.floor(microseconds! / 1_000);
    const endMs = windowEndMs(window);
    return { endMs, remainingMs: Math.max(0, endMs - nowMs) };
  }
}

/** The first of `[count, start, end]`. A client that made an inexact double of it must not pass it on as exact. */
function countOf(reply: unknown): bigint {
  const count = (reply as [number | bigint | string])[0];
  if (typeof count === 'number' && !Number.isSafeInteger(count)) {
    throw new RangeError('the count is past 2^53 and the client lost digits of it; have it return integers as strings');
  }
  return BigInt(count);
}
