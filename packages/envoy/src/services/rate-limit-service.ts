import { Refusal, refusals } from '../deciding/refusal.js';
import type { ShouldRateLimit } from '../deciding/should-rate-limit.js';
import type { Methods, UnaryMethod } from '../door/method.js';
import { decodeRateLimitRequest } from '../messages/rate-limit-request.js';
import { encodeRateLimitResponse } from '../messages/rate-limit-response.js';

export const RATE_LIMIT_SERVICE = 'envoy.service.ratelimit.v3.RateLimitService';

/** Tokens of other regions are waited for no longer, however patient the client is. */
const LONGEST_WAIT_MS = 1000;
/** Of the time that a client gives a call: a later answer would find it gone, and its tokens spent for nothing. */
const WAITED_PART = 0.8;

function waitMsOf(timeoutMs: number | undefined): number | undefined {
  return timeoutMs === undefined ? undefined : Math.min(LONGEST_WAIT_MS, Math.floor(timeoutMs * WAITED_PART));
}

/** Envoy's rate limit service. */
export function rateLimitMethods(decisions: ShouldRateLimit): Methods {
  const method: UnaryMethod = {
    kind: 'unary',
    isOpen: false,
    answer(message, { caller, timeoutMs }, done) {
      const request = decodeRateLimitRequest(message);
      if (!caller.mayCount(request.domain)) throw refusals.notAllowed(request.domain);
      decisions.decide(request, waitMsOf(timeoutMs), (answer) =>
        done(answer instanceof Refusal ? answer : encodeRateLimitResponse(answer)),
      );
    },
  };
  return new Map([[`/${RATE_LIMIT_SERVICE}/ShouldRateLimit`, method]]);
}
