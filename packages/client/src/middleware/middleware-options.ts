import type { LimitResult } from '../limiter/limit-result.js';
import type { RateLimiter } from '../limiter/rate-limiter.js';
import type { Quota } from '../quota/quota.js';
import { type RatePolicy, rateLimitHeaders } from './headers.js';

export interface MiddlewareOptions<Request> {
  /** What decides: a rate limit, or a quota. */
  readonly limiter: RateLimiter | Quota;
  /** Whom a request is counted for; undefined lets it pass uncounted. */
  readonly key?: (request: Request) => string | undefined | Promise<string | undefined>;
  /** What a request costs; 1 if left out. */
  readonly cost?: (request: Request) => number;
  /** The name of the policy in the headers; `default` if left out. */
  readonly policyName?: string;
}

/** What a framework's middleware has to do with a request: nothing, or set headers and perhaps refuse. */
export interface Verdict {
  readonly policy: RatePolicy;
  readonly result: LimitResult;
  readonly headers: Readonly<Record<string, string>>;
}

export async function judge<Request>(
  options: MiddlewareOptions<Request>,
  request: Request,
  defaultKey: (request: Request) => string | undefined,
): Promise<Verdict | undefined> {
  const { limiter } = options;
  const key = await (options.key ?? defaultKey)(request);
  if (key === undefined) return undefined;
  const cost = options.cost?.(request) ?? 1;
  const result = await ('take' in limiter ? limiter.take(key, cost) : limiter.limitFor(key, cost));
  const policy = { name: options.policyName ?? 'default', limit: limiter.limit, windowMs: limiter.windowMs };
  return { policy, result, headers: rateLimitHeaders(policy, result) };
}

export const PROBLEM_MEDIA_TYPE = 'application/problem+json';
