import { createHash } from 'node:crypto';

/**
 * The token bucket that people run in Redis: a hash with the tokens and the time they were counted at, refilled by the time
 * that has passed. One key, one round trip, and the whole thing while nobody else is served.
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

export const TOKEN_BUCKET_SHA1 = createHash('sha1').update(TOKEN_BUCKET).digest('hex');
