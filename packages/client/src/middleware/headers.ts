import type { LimitResult } from '../limiter/limit-result.js';

/**
 * The fields of draft-ietf-httpapi-ratelimit-headers-10, which are structured fields (RFC 9651): the policy with its
 * quota and window in seconds; the remaining amount and the seconds until it is reset. `Retry-After` (RFC 9110) only
 * goes with a refusal, and only where trying again can help.
 *
 *   RateLimit-Policy: "default";q=100;w=60
 *   RateLimit: "default";r=42;t=17
 */
export interface RatePolicy {
  readonly name: string;
  readonly limit: number;
  /** 0: the limit holds for ever. */
  readonly windowMs: number;
}

/** The largest integer of a structured field has fifteen digits. */
const LARGEST_FIELD_INTEGER = 999_999_999_999_999;
const STRUCTURED_STRING = /^[\x20-\x7e]*$/;

export function rateLimitHeaders(policy: RatePolicy, result: LimitResult, nowMs = Date.now()): Record<string, string> {
  const name = structuredString(policy.name);
  const window = policy.windowMs > 0 ? `;w=${seconds(policy.windowMs)}` : '';
  const reset = result.reset < Number.POSITIVE_INFINITY ? `;t=${seconds(result.reset - nowMs)}` : '';
  const headers: Record<string, string> = {
    'RateLimit-Policy': `${name};q=${bounded(policy.limit)}${window}`,
    RateLimit: `${name};r=${bounded(result.remaining)}${reset}`,
  };
  if (!result.success && result.retryAfterMs >= 0) {
    headers['Retry-After'] = String(Math.max(seconds(result.retryAfterMs), 1));
  }
  return headers;
}

/** The body of a refusal, a problem of RFC 9457. */
export function tooManyRequests(policy: RatePolicy, result: LimitResult): string {
  const detail =
    result.reason === 'away'
      ? 'The limit cannot be looked up at the moment.'
      : `At most ${policy.limit}${policy.windowMs > 0 ? ` in ${seconds(policy.windowMs)} seconds` : ''}.`;
  return JSON.stringify({ type: 'about:blank', title: 'Too Many Requests', status: 429, detail, policy: policy.name });
}

/** Rounded up, so that a client that waits for these seconds has waited long enough. */
function seconds(milliseconds: number): number {
  return bounded(Math.max(Math.ceil(milliseconds / 1_000), 0));
}

function bounded(value: number): number {
  return Math.min(value, LARGEST_FIELD_INTEGER);
}

function structuredString(text: string): string {
  if (!STRUCTURED_STRING.test(text)) {
    throw new RangeError(`the name of a policy is printable ASCII, not ${JSON.stringify(text)}`);
  }
  return `"${text.replace(/["\\]/g, '\\$&')}"`;
}
