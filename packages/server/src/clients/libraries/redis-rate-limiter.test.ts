import { createRequire } from 'node:module';
import { Redis } from 'ioredis';
import { onBoth } from './on-both.js';

interface Rate {
  readonly current: number;
  readonly over: boolean;
}
type Limiter = (request: string, callback: (error: Error | null, rate: Rate) => void) => void;
type Create = (options: Record<string, unknown>) => Limiter;

const { create } = createRequire(import.meta.url)('redis-rate-limiter') as { create: Create };

onBoth('redis-rate-limiter', {
  'renames a fresh counter into place, and counts on it': {
    async run(port) {
      const redis = new Redis(port);
      try {
        const limiter = create({ redis, key: (name: string) => name, limit: 2, window: 60 });
        const ask = () =>
          new Promise<Rate>((resolve, reject) =>
            limiter('alice', (error, rate) => (error ? reject(error) : resolve(rate))),
          );
        const seen: [number, boolean][] = [];
        for (let asked = 0; asked < 3; asked++) {
          const { current, over } = await ask();
          seen.push([current, over]);
        }
        return { seen, ttl: await redis.ttl('ratelimit:alice'), left: await redis.exists('ratelimittemp:alice') };
      } finally {
        redis.disconnect();
      }
    },
    expected: {
      seen: [
        [1, false],
        [2, false],
        [3, true],
      ],
      ttl: 60,
      left: 1,
    },
  },
});
