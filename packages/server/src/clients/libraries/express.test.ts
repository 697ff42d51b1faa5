import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { rateLimit } from 'express-rate-limit';
import { slowDown } from 'express-slow-down';
import { Redis } from 'ioredis';
import { RedisStore, type SendCommandFn } from 'rate-limit-redis';
import { RedisStore as RedisStore4 } from 'rate-limit-redis4';
import { createClient } from 'redis';
import { onBoth, statuses, tally } from './on-both.js';

/** rate-limit-redis, the Redis store of express-rate-limit and express-slow-down, as its documentation sets it up. */

const MINUTE_MS = 60_000;

type Get = () => Promise<Response>;

async function withExpress<Seen>(middleware: express.RequestHandler, work: (get: Get) => Promise<Seen>): Promise<Seen> {
  const app = express();
  app.use(middleware);
  app.get('/', (_request, response) => {
    response.send('hello');
  });
  const listener = app.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  try {
    return await work(() => fetch(`http://127.0.0.1:${(listener.address() as AddressInfo).port}/`));
  } finally {
    listener.closeAllConnections();
    await new Promise((resolve) => listener.close(resolve));
  }
}

async function withIoredis<Seen>(port: number, work: (sendCommand: SendCommandFn) => Promise<Seen>): Promise<Seen> {
  const client = new Redis(port);
  try {
    return await work((command: string, ...words: string[]) => client.call(command, ...words) as never);
  } finally {
    client.disconnect();
  }
}

async function withNodeRedis<Seen>(port: number, work: (sendCommand: SendCommandFn) => Promise<Seen>): Promise<Seen> {
  const client = createClient({ url: `redis://127.0.0.1:${port}` });
  await client.connect();
  try {
    return await work((...words: string[]) => client.sendCommand(words) as never);
  } finally {
    client.destroy();
  }
}

const CLIENTS = { ioredis: withIoredis, 'node-redis': withNodeRedis };

async function limited(sendCommand: SendCommandFn, Store: typeof RedisStore): Promise<unknown> {
  const store = new Store({ sendCommand, prefix: `express:${Store === RedisStore ? 6 : 4}:` });
  const limiter = rateLimit({ windowMs: MINUTE_MS, limit: 3, standardHeaders: 'draft-7', legacyHeaders: false, store });
  return withExpress(limiter, async (get) => {
    const seen: [number, string | null][] = [];
    for (let sent = 0; sent < 5; sent++) {
      const response = await get();
      seen.push([response.status, response.headers.get('ratelimit')]);
    }
    const atOnce = await Promise.all(Array.from({ length: 20 }, async () => (await get()).status));
    return { seen, atOnce: tally(atOnce) };
  });
}

const LIMITED = {
  seen: [
    [200, 'limit=3, remaining=2, reset=60'],
    [200, 'limit=3, remaining=1, reset=60'],
    [200, 'limit=3, remaining=0, reset=60'],
    [429, 'limit=3, remaining=0, reset=60'],
    [429, 'limit=3, remaining=0, reset=60'],
  ],
  atOnce: { 429: 20 },
};

/** What a store does beyond counting: reads, takes one back, forgets; and a script that the server has forgotten. */
async function store(sendCommand: SendCommandFn): Promise<unknown> {
  const store = new RedisStore({ sendCommand, prefix: 'store:' });
  await store.init({ windowMs: MINUTE_MS } as never);
  const hits = async () => (await store.get('alice'))?.totalHits;
  await store.increment('alice');
  await store.increment('alice');
  const two = await hits();
  await store.decrement('alice');
  const one = await hits();
  await sendCommand('SCRIPT', 'FLUSH');
  const afterFlush = (await store.increment('alice')).totalHits;
  await store.resetKey('alice');
  return { two, one, afterFlush, reset: (await store.increment('alice')).totalHits };
}

/** Version 3 loaded this script; it limits windows that start with the first hit. */
const SCRIPT_OF_VERSION_3 = `local totalHits = redis.call("INCR", KEYS[1])
local timeToExpire = redis.call("PTTL", KEYS[1])
if timeToExpire <= 0 or ARGV[1] == "1"
then
redis.call("PEXPIRE", KEYS[1], tonumber(ARGV[2]))
timeToExpire = tonumber(ARGV[2])
end
return { totalHits, timeToExpire }`;

async function version3(sendCommand: SendCommandFn): Promise<unknown> {
  const sha = (await sendCommand('SCRIPT', 'LOAD', SCRIPT_OF_VERSION_3)) as string;
  const first = await sendCommand('EVALSHA', sha, '1', 'version3', '0', String(MINUTE_MS));
  const [hits] = (await sendCommand('EVALSHA', sha, '1', 'version3', '0', String(MINUTE_MS))) as number[];
  return { sha, first, hits };
}

for (const [client, withClient] of Object.entries(CLIENTS)) {
  onBoth(`rate-limit-redis over ${client}`, {
    'version 6 limits, with the headers that clients see': {
      run: (port) => withClient(port, (send) => limited(send, RedisStore)),
      expected: LIMITED,
    },
    'version 4 limits, with the headers that clients see': {
      run: (port) => withClient(port, (send) => limited(send, RedisStore4 as never)),
      expected: LIMITED,
    },
    'reads, decrements, resets, and loads its script again where the server has forgotten it': {
      run: (port) => withClient(port, store),
      expected: { two: 2, one: 1, afterFlush: 2, reset: 1 },
    },
    'the script of version 3': {
      run: (port) => withClient(port, version3),
      expected: { sha: createHash('sha1').update(SCRIPT_OF_VERSION_3).digest('hex'), first: [1, MINUTE_MS], hits: 2 },
    },
  });
}

onBoth('express-slow-down', {
  'delays what comes after the limit, by more each time': {
    run: (port) =>
      withIoredis(port, async (sendCommand) => {
        const store = new RedisStore({ sendCommand, prefix: 'slow:' });
        const delayed: number[] = [];
        const limiter = slowDown({
          windowMs: MINUTE_MS,
          delayAfter: 2,
          delayMs: (used) => {
            delayed.push(used);
            return (used - 2) * 10;
          },
          store,
        });
        const seen = await withExpress(limiter, (get) => statuses(5, async () => (await get()).status));
        return { seen, delayed };
      }),
    expected: { seen: [200, 200, 200, 200, 200], delayed: [3, 4, 5] },
  },
});
