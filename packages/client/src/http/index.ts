/** `@quotadb/client/http`: all that needs `fetch` and timers and no sockets. It imports no module of Node. */
export { ConnectionError, QuotadbError, TimeoutError } from '../contract/errors.js';
export type * from '../contract/quota.js';
export type * from '../contract/rate.js';
export type { WhenAway } from '../limiter/away-policy.js';
export type { LimitResult } from '../limiter/limit-result.js';
export { type RateBackend, RateLimiter, type RateLimiterOptions } from '../limiter/rate-limiter.js';
export { type RatePolicy, rateLimitHeaders } from '../middleware/headers.js';
export { type HonoOptions, honoRateLimit } from '../middleware/hono.js';
export { QuotaLease } from '../quota/lease.js';
export { Quota } from '../quota/quota.js';
export type { AcquireOptions, QuotaBackend, QuotaOptions, ReserveOptions } from '../quota/quota-options.js';
export { QuotaReservation } from '../quota/reservation.js';
export { type HttpClientOptions, HttpProblem, QuotadbHttpClient } from './http-client.js';
