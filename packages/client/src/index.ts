export { QuotadbClient } from './client.js';
export type {
  BucketDecision,
  CallOptions,
  Key,
  RateDecision,
  RateRule,
  SeveralDecisions,
  WindowCount,
} from './commands.js';
export { ConnectionError, QuotadbError, ReplyError, TimeoutError } from './errors.js';
export { type HttpClientOptions, HttpProblem, QuotadbHttpClient } from './http-client.js';
export type { WhenAway } from './limiter/away-policy.js';
export type { LimitResult } from './limiter/limit-result.js';
export { type RateBackend, RateLimiter, type RateLimiterOptions } from './limiter/rate-limiter.js';
export { expressRateLimit } from './middleware/express.js';
export { fastifyRateLimit } from './middleware/fastify.js';
export { type RatePolicy, rateLimitHeaders } from './middleware/headers.js';
export { honoRateLimit } from './middleware/hono.js';
export type { MiddlewareOptions } from './middleware/middleware-options.js';
export type { ClientOptions } from './options.js';
export { QuotaLease } from './quota/lease.js';
export {
  type AcquireOptions,
  Quota,
  type QuotaBackend,
  type QuotaOptions,
  type ReserveOptions,
} from './quota/quota.js';
export { QuotaReservation } from './quota/reservation.js';
export type {
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
} from './quota-commands.js';
export type { Word } from './resp/encode.js';
export type { Reply } from './resp/values.js';
export { ExpressRateLimitStore, type ExpressRateLimitStoreOptions } from './stores/express-rate-limit.js';
export { fastifyRateLimitStore } from './stores/fastify-rate-limit.js';
