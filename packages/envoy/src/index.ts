/**
 * Envoy's rate limit services on the one decision of packages/limits: an adapter, as RESP and HTTP are.
 *
 *   definitions    the .proto files, and their descriptors for reflection
 *   messages       requests and responses, read and written within bounds
 *   configuration  the YAML of envoyproxy/ratelimit: files, rules, mistakes with lines, a watched directory
 *   matching       which rule a descriptor falls under, and the name of its counter
 *   deciding       ShouldRateLimit on a store
 *   assigning      shares of exact limits for proxies (RLQS)
 *   http2          the server's side of HTTP/2, as far as gRPC needs it
 *   door           gRPC: calls, their callers and bounds
 *   services       the methods that the door serves
 */

export type { ReservedTokens, TokenError, TokenStanding, TokenStore } from './assigning/token-store.js';
export { type Domains, QUOTA_PREFIX, type Rule, rulesOf } from './configuration/rule.js';
export { EnvoyConfigurationError, WatchedDirectory } from './configuration/watched-directory.js';
export type { DecideRequest, FixedWindow, LimitStore } from './deciding/limit-store.js';
export { Refusal, refusals } from './deciding/refusal.js';
export { ShouldRateLimit } from './deciding/should-rate-limit.js';
export { type Admission, GrpcDoor } from './door/grpc-door.js';
export type { Caller } from './door/method.js';
export { units } from './messages/units.js';
export { HealthService } from './services/health.js';
export { RATE_LIMIT_QUOTA_SERVICE, RateLimitQuotaService } from './services/rate-limit-quota-service.js';
export { RATE_LIMIT_SERVICE, rateLimitMethods } from './services/rate-limit-service.js';
export { reflectionMethods } from './services/reflection.js';
