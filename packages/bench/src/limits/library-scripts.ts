import { type Command, KEY } from '../load/request.js';
import { digestOf } from '../side-by-side/lua-scripts.js';

/**
 * The scripts that limiter libraries send by EVALSHA, as they are in the packages, each with the words of a request
 * that is allowed. Both servers get the same bytes.
 */
export interface LibraryScript {
  readonly library: string;
  readonly script: string;
  readonly request: Command;
}

const MINUTE_MS = '60000';
const UNREACHED_LIMIT = '1000000000';

/** rate-limit-redis 6, the store of express-rate-limit. */
const RATE_LIMIT_REDIS = `local windowMs = tonumber(ARGV[1])
local timeToExpire = redis.call("PTTL", KEYS[1])
if timeToExpire <= 0 then
redis.call("SET", KEYS[1], 1, "PX", windowMs)
return { 1, windowMs }
end
local totalHits = redis.call("INCR", KEYS[1])
return { totalHits, timeToExpire }`;

/** RateLimiterRedis of rate-limiter-flexible 11. */
const RATE_LIMITER_FLEXIBLE = `redis.call('set', KEYS[1], 0, 'EX', ARGV[2], 'NX')
local consumed = redis.call('incrby', KEYS[1], ARGV[1])
local ttl = redis.call('pttl', KEYS[1])
if ttl == -1 then
  redis.call('expire', KEYS[1], ARGV[2])
  ttl = 1000 * ARGV[2]
end
return {consumed, ttl}`;

/** @fastify/rate-limit 11. */
const FASTIFY = `local key = KEYS[1]
local timeWindow = tonumber(ARGV[1])
local max = tonumber(ARGV[2])
local continueExceeding = ARGV[3] == 'true'
local exponentialBackoff = ARGV[4] == 'true'
local MAX_SAFE_INTEGER = (2^53) - 1
local current = redis.call('INCR', key)
if current == 1 or (continueExceeding and current > max) then
  redis.call('PEXPIRE', key, timeWindow)
elseif exponentialBackoff and current > max then
  local backoffExponent = current - max - 1
  timeWindow = math.min(timeWindow * (2 ^ backoffExponent), MAX_SAFE_INTEGER)
  redis.call('PEXPIRE', key, timeWindow)
else
  timeWindow = redis.call('PTTL', key)
end
return {current, timeWindow}`;

/** The sliding window of @upstash/ratelimit 2, without its first line, whose flag Redis does not know. */
const UPSTASH_SLIDING = `local currentKey  = KEYS[1]
local previousKey = KEYS[2]
local dynamicLimitKey = KEYS[3]
local tokens      = tonumber(ARGV[1])
local now         = ARGV[2]
local window      = ARGV[3]
local incrementBy = tonumber(ARGV[4])
local effectiveLimit = tokens
if dynamicLimitKey and dynamicLimitKey ~= "" then
  local dynamicLimit = redis.call("GET", dynamicLimitKey)
  if dynamicLimit then
    effectiveLimit = tonumber(dynamicLimit)
  end
end
local requestsInCurrentWindow = redis.call("GET", currentKey)
if requestsInCurrentWindow == false then
  requestsInCurrentWindow = 0
end
local requestsInPreviousWindow = redis.call("GET", previousKey)
if requestsInPreviousWindow == false then
  requestsInPreviousWindow = 0
end
local percentageInCurrent = ( now % window ) / window
requestsInPreviousWindow = math.floor(( 1 - percentageInCurrent ) * requestsInPreviousWindow)
if incrementBy > 0 and requestsInPreviousWindow + requestsInCurrentWindow >= effectiveLimit then
  return {-1, effectiveLimit}
end
local newValue = redis.call("INCRBY", currentKey, incrementBy)
if newValue == incrementBy then
  redis.call("PEXPIRE", currentKey, window * 2 + 1000)
end
return {effectiveLimit - ( newValue + requestsInPreviousWindow ), effectiveLimit}`;

const evalsha = (script: string, keys: readonly string[], ...words: string[]): Command => [
  'EVALSHA',
  digestOf(script),
  String(keys.length),
  ...keys,
  ...words,
];

export const libraryScripts: readonly LibraryScript[] = [
  {
    library: 'rate-limit-redis',
    script: RATE_LIMIT_REDIS,
    request: evalsha(RATE_LIMIT_REDIS, [KEY], MINUTE_MS),
  },
  {
    library: 'rate-limiter-flexible',
    script: RATE_LIMITER_FLEXIBLE,
    request: evalsha(RATE_LIMITER_FLEXIBLE, [KEY], '1', '60', UNREACHED_LIMIT, '60'),
  },
  {
    library: '@fastify/rate-limit',
    script: FASTIFY,
    request: evalsha(FASTIFY, [KEY], MINUTE_MS, UNREACHED_LIMIT, 'false', 'false'),
  },
  {
    library: '@upstash/ratelimit, sliding',
    script: UPSTASH_SLIDING,
    request: evalsha(UPSTASH_SLIDING, [KEY, KEY, ''], UNREACHED_LIMIT, '1700000012345', MINUTE_MS, '1'),
  },
];
