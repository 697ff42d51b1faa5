import type { Reply } from './resp/values.js';

export type Key = string | Uint8Array;

export interface CallOptions {
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
}

export interface WindowCount<Integer> {
  readonly count: Integer;
  readonly startMs: number;
  readonly endMs: number;
}

export interface RateDecision {
  readonly allowed: boolean;
  readonly limit: number;
  readonly remaining: number;
  /** Until the current window ends. */
  readonly resetAfterMs: number;
  /** After how long to try again: 0 where it was allowed, −1 where it never will be. */
  readonly retryAfterMs: number;
}

export interface BucketDecision {
  readonly allowed: boolean;
  readonly limit: number;
  readonly remaining: number;
  /** −1 where there is no need, or no use. */
  readonly retryAfterMs: number;
  /** Until the bucket is full. */
  readonly resetAfterMs: number;
}

export interface SeveralDecisions {
  readonly allowed: boolean;
  readonly decisions: readonly RateDecision[];
}

export interface RateRule {
  readonly key: Key;
  readonly limit: number;
  readonly windowMs: number;
}

export function windowOf<Integer>(reply: Reply, integerOf: (reply: Reply) => Integer): WindowCount<Integer> {
  const [count, startMs, endMs] = reply as [Reply, number, number];
  return { count: integerOf(count), startMs, endMs };
}

export function decisionOf(reply: Reply): RateDecision {
  const [allowed, limit, remaining, resetAfterMs, retryAfterMs] = reply as number[];
  return {
    allowed: allowed === 1,
    limit: limit!,
    remaining: remaining!,
    resetAfterMs: resetAfterMs!,
    retryAfterMs: retryAfterMs!,
  };
}

export function decisionsOf(reply: Reply): SeveralDecisions {
  const [allowed, ...decisions] = reply as [number, ...Reply[]];
  return { allowed: allowed === 1, decisions: decisions.map(decisionOf) };
}

export function bucketOf(reply: Reply): BucketDecision {
  const [limited, limit, remaining, retryAfterMs, resetAfterMs] = reply as number[];
  return {
    allowed: limited === 0,
    limit: limit!,
    remaining: remaining!,
    retryAfterMs: retryAfterMs!,
    resetAfterMs: resetAfterMs!,
  };
}

/** An integer reply as a number; past 2^53 it is an error rather than another number. */
export function numberOf(reply: Reply): number {
  const value = typeof reply === 'string' ? integerOfText(reply) : reply;
  if (typeof value === 'number') return value;
  throw new RangeError(
    `${String(reply)} is no integer that a number holds exactly; make the client with integers: 'bigint'`,
  );
}

export function bigintOf(reply: Reply): bigint {
  if (typeof reply === 'bigint' || typeof reply === 'number' || typeof reply === 'string') return BigInt(reply);
  throw new TypeError(`the server replied ${String(reply)} where an integer was expected`);
}

function integerOfText(text: string): number | string {
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : text;
}
