import 'reflect-metadata';
import { ThrottlerStorageRedisService } from '@nest-lab/throttler-storage-redis';
import { Hono } from 'hono';
import { RedisStore, rateLimiter } from 'hono-rate-limiter';
import { Redis } from 'ioredis';
import { ThrottlerStorageRedisService as OlderThrottlerStorage } from 'nestjs-throttler-storage-redis';
import { onBoth, statuses } from './on-both.js';

const MINUTE_MS = 60_000;

/** As hono-rate-limiter documents it for clients that are not Upstash's: three functions over the client's own. */
function honoClient(client: Redis) {
  return {
    scriptLoad: (script: string) => client.script('LOAD', script) as Promise<string>,
    evalsha: (sha: string, keys: string[], words: unknown[]) =>
      client.evalsha(sha, keys.length, ...keys, ...(words as string[])) as never,
    decr: (key: string) => client.decr(key),
    del: (key: string) => client.del(key),
  };
}

onBoth('hono-rate-limiter', {
  'limits, and takes requests back that are not to be counted': {
    async run(port) {
      const client = new Redis(port);
      try {
        const app = new Hono();
        const store = new RedisStore({ client: honoClient(client) as never, prefix: 'hono:' });
        const keyGenerator = () => 'alice';
        app.use('/free', rateLimiter({ windowMs: MINUTE_MS, limit: 2, keyGenerator, store: store as never }));
        app.use(
          '/failing',
          rateLimiter({
            windowMs: MINUTE_MS,
            limit: 2,
            keyGenerator: () => 'bob',
            skipFailedRequests: true,
            store: new RedisStore({ client: honoClient(client) as never, prefix: 'hono:' }) as never,
          }),
        );
        app.get('/free', (context) => context.text('hello'));
        app.get('/failing', (context) => context.text('no', 500));
        const free = await statuses(4, async () => (await app.request('/free')).status);
        const failing = await statuses(4, async () => (await app.request('/failing')).status);
        return { free, failing };
      } finally {
        client.disconnect();
      }
    },
    expected: { free: [200, 200, 429, 429], failing: [500, 500, 500, 500] },
  },
});

for (const [name, Storage] of Object.entries({
  '@nest-lab/throttler-storage-redis': ThrottlerStorageRedisService,
  'nestjs-throttler-storage-redis': OlderThrottlerStorage as unknown as typeof ThrottlerStorageRedisService,
})) {
  onBoth(name, {
    'counts hits, and blocks past the limit, again when a block is over': {
      async run(port) {
        const client = new Redis(port);
        try {
          const storage = new Storage(client as never);
          const hit = () => storage.increment(`nest:${name}`, MINUTE_MS, 2, 300, 'default');
          const seen = [await hit(), await hit(), await hit(), await hit()];
          await new Promise((resolve) => setTimeout(resolve, 400));
          return [...seen, await hit()].map(({ totalHits, isBlocked, timeToExpire, timeToBlockExpire }) => [
            totalHits,
            isBlocked,
            timeToExpire,
            timeToBlockExpire,
          ]);
        } finally {
          client.disconnect();
        }
      },
      expected: [
        [1, false, 60, 0],
        [2, false, 60, 0],
        [3, true, 60, 1],
        [4, true, 60, 1],
        [5, true, 60, 1],
      ],
    },
  });
}
