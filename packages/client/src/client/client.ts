/// <reference lib="esnext.disposable" preserve="true" />
import '../contract/dispose-symbol.js';
import type {
  QuotaAcquired,
  QuotaDecision,
  QuotaDefinition,
  QuotaItem,
  QuotaPolicy,
  QuotaRenewed,
  QuotaReserved,
  QuotaReserveOptions,
  QuotaSettlement,
  QuotaStanding,
  QuotaTakeOptions,
  QuotaWaitOptions,
  SeveralQuotaDecisions,
} from '../contract/quota.js';
import type {
  BucketDecision,
  CallOptions,
  Key,
  RateDecision,
  RateRule,
  SeveralDecisions,
  WindowCount,
} from '../contract/rate.js';
import type { Word } from '../resp/encode.js';
import type { Reply } from '../resp/values.js';
import { Connection } from './connection.js';
import { type ClientOptions, resolveOptions } from './options.js';
import * as quotaReplies from './quota-replies.js';
import { bigintOf, bucketOf, decisionOf, decisionsOf, numberOf, windowOf, windowWord } from './rate-replies.js';

type Amount = number | bigint;

/**
 * A client over RESP. Commands of one turn of the event loop are sent in one write. Counts are numbers, and a count
 * past 2^53 is an error; with `integers: 'bigint'` they are bigints, and all are exact.
 */
export class QuotadbClient<Integer extends number | bigint = number> {
  readonly #connection: Connection;
  readonly #integerOf: (reply: Reply) => Integer;

  private constructor(options: string | ClientOptions | undefined, integerOf: (reply: Reply) => Integer) {
    this.#connection = new Connection(resolveOptions(options));
    this.#integerOf = integerOf;
  }

  /** Begins to connect at once; commands wait for the connection. */
  static open(options?: string | (ClientOptions & { readonly integers?: 'number' })): QuotadbClient<number>;
  static open(options: ClientOptions & { readonly integers: 'bigint' }): QuotadbClient<bigint>;
  static open(
    options?: string | (ClientOptions & { readonly integers?: 'number' | 'bigint' }),
  ): QuotadbClient<number> | QuotadbClient<bigint> {
    const isBigint = typeof options === 'object' && options.integers === 'bigint';
    return isBigint ? new QuotadbClient<bigint>(options, bigintOf) : new QuotadbClient<number>(options, numberOf);
  }

  get isReady(): boolean {
    return this.#connection.isReady;
  }

  /** The client has tried to connect, or was connected, and is not connected now. */
  get isAway(): boolean {
    return this.#connection.isAway;
  }

  /** Any command. Rejects with a ReplyError where the server refuses it. */
  send(words: readonly Word[], options: CallOptions = {}): Promise<Reply> {
    return this.#connection.send(words, options.signal, options.timeoutMs);
  }

  /** The same with the signature of ioredis. */
  call(command: string, ...parameters: Word[]): Promise<Reply> {
    return this.#connection.send([command, ...parameters]);
  }

  /** Waits for the replies to all sent commands, then ends the connection. */
  close(): Promise<void> {
    return this.#connection.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async ping(options?: CallOptions): Promise<void> {
    await this.send(['PING'], options);
  }

  // ---- counters -----------------------------------------------------------------------------------------------------

  async increment(key: Key, amount: Amount = 1, options?: CallOptions): Promise<Integer> {
    return this.#integerOf(await this.send(['INCRBY', key, amount], options));
  }

  async decrement(key: Key, amount: Amount = 1, options?: CallOptions): Promise<Integer> {
    return this.#integerOf(await this.send(['DECRBY', key, amount], options));
  }

  /** Adds, and starts an expiry where the key has none. */
  async incrementExpiring(key: Key, amount: Amount, ttlSeconds: number, options?: CallOptions): Promise<Integer> {
    return this.#integerOf(await this.send(['INCRBYEX', key, amount, ttlSeconds], options));
  }

  async get(key: Key, options?: CallOptions): Promise<Integer | undefined> {
    const reply = await this.send(['GET', key], options);
    return reply === null ? undefined : this.#integerOf(reply);
  }

  async getMany(keys: readonly Key[], options?: CallOptions): Promise<(Integer | undefined)[]> {
    const replies = (await this.send(['MGET', ...keys], options)) as Reply[];
    return replies.map((reply) => (reply === null ? undefined : this.#integerOf(reply)));
  }

  async set(key: Key, value: Amount, options?: CallOptions): Promise<void> {
    await this.send(['SET', key, value], options);
  }

  /** Returns how many of the keys existed. */
  async delete(keys: readonly Key[], options?: CallOptions): Promise<number> {
    return numberOf(await this.send(['DEL', ...keys], options));
  }

  // ---- windows ------------------------------------------------------------------------------------------------------

  async windowIncrement(
    key: Key,
    windowMs: number,
    amount: Amount = 1,
    options: CallOptions & { readonly startMs?: number } = {},
  ): Promise<WindowCount<Integer>> {
    const start = options.startMs === undefined ? [] : ['START', options.startMs];
    return windowOf(
      await this.send(['WINDOW.INCRBY', key, windowWord(windowMs), amount, ...start], options),
      this.#integerOf,
    );
  }

  async windowRead(
    key: Key,
    windowMs: number,
    options: CallOptions & { readonly startMs?: number } = {},
  ): Promise<WindowCount<Integer>> {
    const start = options.startMs === undefined ? [] : ['START', options.startMs];
    return windowOf(await this.send(['WINDOW.GET', key, windowWord(windowMs), ...start], options), this.#integerOf);
  }

  // ---- rate limits --------------------------------------------------------------------------------------------------

  async rateLimit(key: Key, limit: number, windowMs: number, cost = 1, options?: CallOptions): Promise<RateDecision> {
    return decisionOf(await this.send(['RATE.LIMIT', key, limit, windowWord(windowMs), cost], options));
  }

  async ratePeek(key: Key, limit: number, windowMs: number, cost = 1, options?: CallOptions): Promise<RateDecision> {
    return decisionOf(await this.send(['RATE.PEEK', key, limit, windowWord(windowMs), cost], options));
  }

  /** Counts requests that were admitted elsewhere, even above the limit. */
  async rateAdd(
    key: Key,
    limit: number,
    windowMs: number,
    amount: number,
    options?: CallOptions,
  ): Promise<RateDecision> {
    return decisionOf(await this.send(['RATE.ADD', key, limit, windowWord(windowMs), amount], options));
  }

  /** Counts against all of the rules or, where one denies, against none. */
  async rateLimitAll(rules: readonly RateRule[], cost = 1, options?: CallOptions): Promise<SeveralDecisions> {
    const words = rules.flatMap(({ key, limit, windowMs }) => [key, limit, windowWord(windowMs)]);
    return decisionsOf(await this.send(['RATE.LIMITALL', cost, ...words], options));
  }

  async gcra(
    key: Key,
    bucket: { readonly burst: number; readonly count: number; readonly periodMs: number },
    cost = 1,
    options?: CallOptions,
  ): Promise<BucketDecision> {
    const { burst, count, periodMs } = bucket;
    return bucketOf(await this.send(['RATE.GCRA', key, burst, count, windowWord(periodMs), cost], options));
  }

  // ---- quotas -------------------------------------------------------------------------------------------------------

  /** Defines a quota, or changes the limit of one. */
  async quotaDefine(name: string, definition: QuotaDefinition, options?: CallOptions): Promise<void> {
    await this.send(['QUOTA.DEFINE', name, ...quotaReplies.definitionWords(definition)], options);
  }

  /** Returns whether the quota existed. */
  async quotaDrop(name: string, options?: CallOptions): Promise<boolean> {
    return (await this.send(['QUOTA.DROP', name], options)) === 1;
  }

  async quotaList(options?: CallOptions): Promise<string[]> {
    return (await this.send(['QUOTA.LIST'], options)) as string[];
  }

  async quotaPolicy(name: string, options?: CallOptions): Promise<QuotaPolicy> {
    return quotaReplies.quotaPolicyOf(await this.send(['QUOTA.INFO', name], options));
  }

  async quotaPeek(name: string, subject: Key, options?: CallOptions): Promise<QuotaStanding> {
    return quotaReplies.quotaStandingOf(await this.send(['QUOTA.PEEK', name, subject], options));
  }

  async quotaTake(name: string, subject: Key, cost = 1, options: QuotaTakeOptions = {}): Promise<QuotaDecision> {
    return quotaReplies.quotaDecisionOf(
      await this.send(['QUOTA.TAKE', name, subject, cost, ...quotaReplies.takeWords(options)], options),
    );
  }

  /** Takes from all of the quotas or, where one has too little, from none. */
  async quotaTakeAll(items: readonly QuotaItem[], options: QuotaTakeOptions = {}): Promise<SeveralQuotaDecisions> {
    const words = items.flatMap(({ name, subject, cost }) => [name, subject, cost]);
    return quotaReplies.quotaDecisionsOf(
      await this.send(['QUOTA.TAKEALL', items.length, ...words, ...quotaReplies.takeWords(options)], options),
    );
  }

  async quotaReserve(
    name: string,
    subject: Key,
    estimate: number,
    ttlMs: number,
    options: QuotaReserveOptions = {},
  ): Promise<QuotaReserved> {
    const words = ['QUOTA.RESERVE', name, subject, estimate, 'TTL', ttlMs, ...quotaReplies.reserveWords(options)];
    return quotaReplies.quotaReservedOf(await this.send(words, options));
  }

  async quotaCommit(reservation: string, actual: number, options?: CallOptions): Promise<QuotaSettlement> {
    return quotaReplies.settlementOf(await this.send(['QUOTA.COMMIT', reservation, actual], options));
  }

  /** Returns whether the reservation existed and was not settled. */
  async quotaCancel(reservation: string, options?: CallOptions): Promise<boolean> {
    return (await this.send(['QUOTA.CANCEL', reservation], options)) === 1;
  }

  async quotaAcquire(
    name: string,
    subject: Key,
    ttlMs: number,
    options: QuotaTakeOptions = {},
  ): Promise<QuotaAcquired> {
    return quotaReplies.quotaAcquiredOf(
      await this.send(['QUOTA.ACQUIRE', name, subject, 'TTL', ttlMs, ...quotaReplies.takeWords(options)], options),
    );
  }

  async quotaRenew(lease: string, ttlMs: number, options: QuotaWaitOptions = {}): Promise<QuotaRenewed> {
    const { waitMs } = options;
    const words = ['QUOTA.RENEW', lease, 'TTL', ttlMs, ...(waitMs === undefined ? [] : ['WAIT', waitMs])];
    return quotaReplies.quotaRenewedOf(await this.send(words, options));
  }

  /** Returns whether the lease was still held. */
  async quotaRelease(lease: string, options?: CallOptions): Promise<boolean> {
    return (await this.send(['QUOTA.RELEASE', lease], options)) === 1;
  }
}
