import { Redis } from 'ioredis';
import {
  BurstyRateLimiter,
  type RateLimiterAbstract,
  RateLimiterMemory,
  RateLimiterQueue,
  RateLimiterRedis,
  RateLimiterRedisNonAtomic,
  RateLimiterRes,
  RateLimiterUnion,
} from 'rate-limiter-flexible';
import { createClient } from 'redis';
import { onBoth, roundUp, tally } from './on-both.js';

/** The documented behaviour of rate-limiter-flexible, whose own suite is not in its package. */

type Clients = { storeClient: unknown; useRedisPackage?: boolean };

async function withIoredis<Seen>(port: number, work: (clients: Clients) => Promise<Seen>): Promise<Seen> {
  const client = new Redis(port, { enableOfflineQueue: true });
  try {
    return await work({ storeClient: client });
  } finally {
    client.disconnect();
  }
}

async function withNodeRedis<Seen>(port: number, work: (clients: Clients) => Promise<Seen>): Promise<Seen> {
  const client = createClient({ url: `redis://127.0.0.1:${port}` });
  await client.connect();
  try {
    return await work({ storeClient: client, useRedisPackage: true });
  } finally {
    client.destroy();
  }
}

interface Seen {
  readonly answer: 'allowed' | 'denied';
  readonly consumed: number;
  readonly remaining: number;
  readonly first: boolean;
  readonly resetMs: number;
}

function seen(answer: Seen['answer'], response: RateLimiterRes): Seen {
  return {
    answer,
    consumed: response.consumedPoints,
    remaining: response.remainingPoints,
    first: response.isFirstInDuration,
    resetMs: response.msBeforeNext < 0 ? response.msBeforeNext : roundUp(response.msBeforeNext, 1000),
  };
}

/** A denial is a rejection with what was counted; any other rejection is a fault of the server or the library. */
async function consume(limiter: Pick<RateLimiterAbstract, 'consume'>, key: string, points = 1): Promise<Seen> {
  try {
    return seen('allowed', await limiter.consume(key, points));
  } catch (rejection) {
    if (rejection instanceof RateLimiterRes) return seen('denied', rejection);
    throw rejection;
  }
}

let prefixes = 0;
const prefix = () => `rlflx${++prefixes}`;

async function consumes(clients: Clients): Promise<unknown> {
  const limiter = new RateLimiterRedis({ ...clients, keyPrefix: prefix(), points: 3, duration: 60 });
  return [
    await consume(limiter, 'alice'),
    await consume(limiter, 'alice', 2),
    await consume(limiter, 'alice'),
    await consume(limiter, 'bob'),
  ];
}

const CONSUMES: Seen[] = [
  { answer: 'allowed', consumed: 1, remaining: 2, first: true, resetMs: 60_000 },
  { answer: 'allowed', consumed: 3, remaining: 0, first: false, resetMs: 60_000 },
  { answer: 'denied', consumed: 4, remaining: 0, first: false, resetMs: 60_000 },
  { answer: 'allowed', consumed: 1, remaining: 2, first: true, resetMs: 60_000 },
];

async function atOnce(clients: Clients): Promise<unknown> {
  const limiter = new RateLimiterRedis({ ...clients, keyPrefix: prefix(), points: 10, duration: 60 });
  const answers = await Promise.all(Array.from({ length: 100 }, () => consume(limiter, 'crowd')));
  return tally(answers.map(({ answer }) => answer));
}

async function changes(clients: Clients): Promise<unknown> {
  const limiter = new RateLimiterRedis({ ...clients, keyPrefix: prefix(), points: 5, duration: 60 });
  const none = await limiter.get('key');
  const penalty = seen('allowed', await limiter.penalty('key', 2));
  const reward = seen('allowed', await limiter.reward('key', 1));
  const block = await limiter.block('key', 30);
  const blocked = await consume(limiter, 'key');
  const read = await limiter.get('key');
  const removed = await limiter.delete('key');
  const removedAgain = await limiter.delete('key');
  await limiter.set('key', 4, 10);
  return {
    none,
    penalty,
    reward,
    block: roundUp(block.msBeforeNext, 1000),
    blocked,
    read: read?.consumedPoints,
    removed,
    removedAgain,
    set: await consume(limiter, 'key'),
  };
}

const CHANGES = {
  none: null,
  penalty: { answer: 'allowed', consumed: 2, remaining: 3, first: true, resetMs: 60_000 },
  reward: { answer: 'allowed', consumed: 1, remaining: 4, first: false, resetMs: 60_000 },
  block: 30_000,
  blocked: { answer: 'denied', consumed: 7, remaining: 0, first: false, resetMs: 30_000 },
  read: 7,
  removed: true,
  removedAgain: false,
  set: { answer: 'allowed', consumed: 5, remaining: 0, first: false, resetMs: 10_000 },
};

async function blocks(clients: Clients): Promise<unknown> {
  const options = { ...clients, keyPrefix: prefix(), points: 1, duration: 1, blockDuration: 20 };
  const limiter = new RateLimiterRedis({ ...options, inMemoryBlockOnConsumed: 3, inMemoryBlockDuration: 20 });
  return [
    await consume(limiter, 'key'),
    await consume(limiter, 'key'),
    await consume(limiter, 'key'),
    await consume(limiter, 'key'),
  ].map(({ answer, resetMs }) => [answer, resetMs]);
}

async function neverExpires(clients: Clients): Promise<unknown> {
  const limiter = new RateLimiterRedis({ ...clients, keyPrefix: prefix(), points: 2, duration: 0 });
  return [await consume(limiter, 'key'), await consume(limiter, 'key'), await consume(limiter, 'key')];
}

async function nonAtomic(clients: Clients): Promise<unknown> {
  const limiter = new RateLimiterRedisNonAtomic({ ...clients, keyPrefix: prefix(), points: 2, duration: 60 });
  return [await consume(limiter, 'key'), await consume(limiter, 'key'), await consume(limiter, 'key')].map(
    ({ answer, consumed }) => [answer, consumed],
  );
}

async function combined(clients: Clients): Promise<unknown> {
  const short = new RateLimiterRedis({ ...clients, keyPrefix: prefix(), points: 1, duration: 60 });
  const long = new RateLimiterRedis({ ...clients, keyPrefix: prefix(), points: 3, duration: 600 });
  const union = new RateLimiterUnion(short, long);
  const answers: string[] = [];
  for (let asked = 0; asked < 3; asked++) {
    answers.push(
      await union.consume('key').then(
        () => 'allowed',
        (rejection) => (rejection instanceof Error ? String(rejection) : 'denied'),
      ),
    );
  }
  const burst = new RateLimiterRedis({ ...clients, keyPrefix: prefix(), points: 2, duration: 60 });
  const steady = new RateLimiterRedis({ ...clients, keyPrefix: prefix(), points: 1, duration: 60 });
  const bursty = new BurstyRateLimiter(steady, burst);
  for (let asked = 0; asked < 4; asked++) {
    answers.push(
      await bursty.consume('key').then(
        () => 'allowed',
        (rejection) => (rejection instanceof Error ? String(rejection) : 'denied'),
      ),
    );
  }
  return answers;
}

async function queue(clients: Clients): Promise<unknown> {
  const limiter = new RateLimiterRedis({ ...clients, keyPrefix: prefix(), points: 2, duration: 1 });
  const waiting = new RateLimiterQueue(limiter, { maxQueueSize: 3 });
  return Promise.all([1, 2, 3].map(() => waiting.removeTokens(1, 'key')));
}

async function insured(clients: Clients): Promise<unknown> {
  const insuranceLimiter = new RateLimiterMemory({ points: 1, duration: 60 });
  const limiter = new RateLimiterRedis({ ...clients, keyPrefix: prefix(), points: 2, duration: 60, insuranceLimiter });
  // The insurance must not be what answers: it would allow one.
  return [await consume(limiter, 'key'), await consume(limiter, 'key'), await consume(limiter, 'key')].map(
    ({ answer }) => answer,
  );
}

for (const [client, withClient] of Object.entries({ ioredis: withIoredis, 'node-redis': withNodeRedis })) {
  onBoth(`rate-limiter-flexible over ${client}`, {
    'consumes up to the points, and says what is left': {
      run: (port) => withClient(port, consumes),
      expected: CONSUMES,
    },
    'admits exactly the points, however many ask at once': {
      run: (port) => withClient(port, atOnce),
      expected: { allowed: 10, denied: 90 },
    },
    'penalty, reward, block, get, set and delete': { run: (port) => withClient(port, changes), expected: CHANGES },
    'blocks for longer than its window, in the server and in the process': {
      run: (port) => withClient(port, blocks),
      expected: [
        ['allowed', 1000],
        ['denied', 20_000],
        ['denied', 20_000],
        ['denied', 20_000],
      ],
    },
    'a duration of 0 never expires': {
      run: (port) => withClient(port, neverExpires),
      expected: [
        { answer: 'allowed', consumed: 1, remaining: 1, first: true, resetMs: -1 },
        { answer: 'allowed', consumed: 2, remaining: 0, first: false, resetMs: -1 },
        { answer: 'denied', consumed: 3, remaining: 0, first: false, resetMs: -1 },
      ],
    },
    'the limiter without a script': {
      run: (port) => withClient(port, nonAtomic),
      expected: [
        ['allowed', 1],
        ['allowed', 2],
        ['denied', 3],
      ],
    },
    'unions and bursts': {
      run: (port) => withClient(port, combined),
      expected: ['allowed', 'denied', 'denied', 'allowed', 'allowed', 'allowed', 'denied'],
    },
    'a queue that waits for the next window': { run: (port) => withClient(port, queue), expected: [1, 0, 1] },
    'its insurance is not needed': {
      run: (port) => withClient(port, insured),
      expected: ['allowed', 'allowed', 'denied'],
    },
  });
}
