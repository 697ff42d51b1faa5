import { createHash } from 'node:crypto';

/**
 * The sliding window of two counters as a script for Redis: what the common libraries send there, written anew. It
 * decides as RATE.LIMIT does, from the same two counts, and takes the time from the server.
 */
export const SLIDING_WINDOW_SCRIPT = `
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

export const SLIDING_WINDOW_DIGEST = createHash('sha1').update(SLIDING_WINDOW_SCRIPT).digest('hex');
