import type { LimitResult } from '../limiter/limit-result.js';
import type { RateLimiter } from '../limiter/rate-limiter.js';
import type { Quota } from '../quota/quota.js';
import { rateLimitHeaders, tooManyRequests } from './headers.js';

export interface MiddlewareOptions<Request> {
  /** A rate limit, or a quota. */
  readonly limiter: RateLimiter | Quota;
  /** The key that a request is counted for; undefined lets it pass uncounted. */
  readonly key?: (request: Request) => string | undefined | Promise<string | undefined>;
  /** The cost of a request; 1 if left out. */
  readonly cost?: (request: Request) => number;
  /** The name of the policy in the headers; `default` if left out. */
  readonly policyName?: string;
}

/** What a framework's middleware does with a request: it sets headers and, where there is a refusal, answers 429. */
export interface Verdict {
  readonly headers: Readonly<Record<string, string>>;
  readonly refusal?: Refusal;
}

export interface Refusal {
  readonly result: LimitResult;
  /** A problem of RFC 9457, for a service without a handler of its own. */
  readonly body: string;
}

export const REFUSED_STATUS = 429;
export const PROBLEM_TYPE = 'application/problem+json';

export async function judge<Request>(
  options: MiddlewareOptions<Request>,
  request: Request,
  defaultKey: (request: Request) => string | undefined,
): Promise<Verdict> {
  const { limiter } = options;
  const key = await (options.key ?? defaultKey)(request);
  if (key === undefined) return { headers: {} };
  const cost = options.cost?.(request) ?? 1;
  const result = await ('take' in limiter ? limiter.take(key, cost) : limiter.limitFor(key, cost));
  const policy = { name: options.policyName ?? 'default', limit: limiter.limit, windowMs: limiter.windowMs };
  const headers = rateLimitHeaders(policy, result);
  return result.success ? { headers } : { headers, refusal: { result, body: tooManyRequests(policy, result) } };
}
