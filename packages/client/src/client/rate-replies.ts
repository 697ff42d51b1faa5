import type { BucketDecision, RateDecision, SeveralDecisions, WindowCount } from '../contract/rate.js';
import type { Reply } from '../resp/values.js';

type FiveNumbers = readonly [number, number, number, number, number];

export function windowOf<Integer>(reply: Reply, integerOf: (reply: Reply) => Integer): WindowCount<Integer> {
  const [count, startMs, endMs] = reply as [Reply, number, number];
  return { count: integerOf(count), startMs, endMs };
}

export function decisionOf(reply: unknown): RateDecision {
  const [allowed, limit, remaining, resetAfterMs, retryAfterMs] = reply as FiveNumbers;
  return { allowed: allowed === 1, limit, remaining, resetAfterMs, retryAfterMs };
}

export function decisionsOf(reply: Reply): SeveralDecisions {
  const [allowed, ...decisions] = reply as [number, ...Reply[]];
  return { allowed: allowed === 1, decisions: decisions.map(decisionOf) };
}

export function bucketOf(reply: unknown): BucketDecision {
  const [allowed, limit, remaining, resetAfterMs, retryAfterMs] = reply as FiveNumbers;
  return { allowed: allowed === 1, limit, remaining, retryAfterMs, resetAfterMs };
}

/** A server takes milliseconds without a unit from 1000 on. */
export function windowWord(milliseconds: number): number | string {
  return milliseconds < 1000 ? `${milliseconds}ms` : milliseconds;
}

/** An integer reply as a number; past 2^53 it is an error rather than a rounded number. */
export function numberOf(reply: Reply): number {
  const value = typeof reply === 'string' ? Number(reply) : reply;
  if (typeof value === 'number' && (typeof reply === 'number' || Number.isSafeInteger(value))) return value;
  throw new RangeError(
    `${String(reply)} is no integer that a number holds exactly; make the client with integers: 'bigint'`,
  );
}

export function bigintOf(reply: Reply): bigint {
  if (typeof reply === 'bigint' || typeof reply === 'number' || typeof reply === 'string') return BigInt(reply);
  throw new TypeError(`the server replied ${String(reply)} where an integer was expected`);
}
