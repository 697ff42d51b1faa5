import { createHash } from 'node:crypto';

/**
 * The sliding window of two counters as a script for Redis: the script of common libraries, written anew. It
 * decides as RATE.LIMIT does, from the same two counts, and takes the time from the server.
 */
export const SLIDING_WINDOW = `
local limit, window, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local index = math.floor(now / window)
local elapsed = now - index * window
local current_key = KEYS[1] .. ':' .. window .. ':' .. index
local current = tonumber(redis.call('GET', current_key) or '0')
local previous = tonumber(redis.call('GET', KEYS[1] .. ':' .. window .. ':' .. (index - 1)) or '0')
local counted = current + math.ceil(previous * (window - elapsed) / window)
if counted + cost > limit then
  return {0, limit, math.max(limit - counted, 0), window - elapsed, 1}
end
if redis.call('INCRBY', current_key, cost) == cost then
  redis.call('PEXPIRE', current_key, window * 2 + 5000)
end
return {1, limit, limit - counted - cost, window - elapsed, 0}
`;

/**
 * The usual token bucket in Redis: a hash with the tokens and the time they were counted at, refilled by the time that
 * has passed. One key, one round trip; Redis serves no other client while the script runs.
 */
export const TOKEN_BUCKET = `
local key = KEYS[1] .. ':bucket'
local capacity = tonumber(ARGV[1])
local perSecond = tonumber(ARGV[2])
local cost = tonumber(ARGV[3])
local time = redis.call('TIME')
local now = tonumber(time[1]) + tonumber(time[2]) / 1000000
local bucket = redis.call('HMGET', key, 'tokens', 'at')
local tokens = tonumber(bucket[1]) or capacity
local at = tonumber(bucket[2]) or now
tokens = math.min(capacity, tokens + (now - at) * perSecond)
local allowed = 0
if tokens >= cost then
  allowed = 1
  tokens = tokens - cost
end
redis.call('HSET', key, 'tokens', tokens, 'at', now)
redis.call('EXPIRE', key, 3600)
return {allowed, math.floor(tokens)}
`;

/** The name under which Redis runs a script that it has loaded. */
export function digestOf(script: string): string {
  return createHash('sha1').update(script).digest('hex');
}
