import { Ratelimit } from '@upstash/ratelimit';
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { startTestServer } from '../../testing/index.js';
import { onBoth } from './on-both.js';

/**
 * @upstash/ratelimit over ioredis: it asks its client for eval, evalsha and a few commands. Redis 7 does not know the
 * flag in the first line of its scripts, `allow-key-locking`, so that line is taken away for both servers; QuotaDB
 * takes it as it is.
 */

const SHEBANG = /^#!lua flags=allow-key-locking\n/;

function client(redis: Redis, strips: boolean) {
  const body = (script: string) => (strips ? script.replace(SHEBANG, '') : script);
  return {
    eval: (script: string, keys: string[], words: unknown[]) =>
      redis.eval(body(script), keys.length, ...keys, ...(words as string[])),
    evalsha: (sha: string, keys: string[], words: unknown[]) =>
      redis.evalsha(sha, keys.length, ...keys, ...(words as string[])),
    get: (key: string) => redis.get(key),
    set: (key: string, value: string) => redis.set(key, value),
    del: (...keys: string[]) => redis.del(...keys),
    sadd: () => 0,
    hset: () => 0,
  } as never;
}

type Algorithm = ReturnType<typeof Ratelimit.fixedWindow>;

async function limits(port: number, limiter: Algorithm, prefix: string, strips = true): Promise<unknown> {
  const redis = new Redis(port);
  try {
    const limit = new Ratelimit({ redis: client(redis, strips), limiter, prefix, ephemeralCache: false });
    const seen: [boolean, number][] = [];
    for (let asked = 0; asked < 4; asked++) {
      const { success, remaining } = await limit.limit('alice');
      seen.push([success, Math.max(remaining, 0)]);
    }
    const left = await limit.getRemaining('alice');
    await limit.resetUsedTokens('alice');
    return { seen, left: Math.max(left.remaining, 0), afterReset: (await limit.limit('alice')).success };
  } finally {
    redis.disconnect();
  }
}

const THREE_THEN_DENIED = {
  seen: [
    [true, 2],
    [true, 1],
    [true, 0],
    [false, 0],
  ],
  left: 0,
  afterReset: true,
};

onBoth('@upstash/ratelimit', {
  'a fixed window': {
    run: (port) => limits(port, Ratelimit.fixedWindow(3, '1 h'), 'upstash:fixed'),
    expected: THREE_THEN_DENIED,
  },
  'a sliding window': {
    run: (port) => limits(port, Ratelimit.slidingWindow(3, '1 h'), 'upstash:sliding'),
    expected: THREE_THEN_DENIED,
  },
});

test('its scripts run as they are, and a token bucket, which keeps hashes, is refused', async () => {
  const server = await startTestServer();
  try {
    const sliding = await limits(server.port, Ratelimit.slidingWindow(3, '1 h'), 'upstash:unchanged', false);
    expect(sliding).toEqual(THREE_THEN_DENIED);
    const bucket = limits(server.port, Ratelimit.tokenBucket(3, '1 h', 3), 'upstash:bucket', false);
    await expect(bucket).rejects.toThrow('Unknown Redis command called from script');
  } finally {
    await server.stop();
  }
});
