import { Redis as Redis5 } from 'ioredis';
import { Redis as Redis6 } from 'ioredis6';
import { createClient as createClient5 } from 'redis';
import { createClient as createClient6 } from 'redis6';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../testing/index.js';

/** The clients people use, as they are: what they send at connect, pipelines, transactions, RESP3. */

const PASSWORD = 'open sesame';
let server: TestServer;
let guarded: TestServer;
beforeAll(async () => {
  [server, guarded] = await Promise.all([startTestServer(), startTestServer({ password: PASSWORD })]);
});
afterAll(async () => {
  await Promise.all([server.stop(), guarded.stop()]);
});

describe.each([
  ['ioredis 5', Redis5],
  ['ioredis 6', Redis6 as unknown as typeof Redis5],
])('%s', (_, Redis) => {
  let redis: Redis5;
  beforeEach(async () => {
    redis = new Redis({ port: server.port, host: '127.0.0.1', lazyConnect: true, connectionName: 'test' });
    await redis.connect();
    await redis.flushall();
  });
  afterEach(() => redis.disconnect());

  test('counts', async () => {
    expect(await redis.incr('a')).toBe(1);
    expect(await redis.incrby('a', 41)).toBe(42);
    expect(await redis.get('a')).toBe('42');
    expect(await redis.mget('a', 'none')).toEqual(['42', null]);
    expect(await redis.client('GETNAME')).toBe('test');
  });

  test('pipelines', async () => {
    const pipeline = redis.pipeline();
    for (let count = 0; count < 1000; count++) pipeline.incr('a');
    const replies = await pipeline.exec();
    expect(replies?.at(-1)).toEqual([null, 1000]);
  });

  test('runs transactions', async () => {
    expect(await redis.multi().incr('a').expire('a', 100).ttl('a').exec()).toEqual([
      [null, 1],
      [null, 1],
      [null, 100],
    ]);
    await expect(redis.multi().incr('a').call('nonsense').exec()).rejects.toThrow(/EXECABORT/);
    expect(await redis.get('a')).toBe('1');
  });

  test('shows errors as they are', async () => {
    await expect(redis.set('a', 'text')).rejects.toThrow('NOTINTEGER the value is refused');
    await expect(redis.call('lpush', 'a', '1')).rejects.toThrow(/ERR unknown command 'lpush'/);
    expect(await redis.eval("return redis.call('INCR', KEYS[1])", 1, 'scripted')).toBe(1);
  });

  test('scans', async () => {
    await redis.mset(Object.fromEntries(Array.from({ length: 500 }, (__, key) => [`key:${key}`, key])));
    const found = new Set<string>();
    for await (const keys of redis.scanStream({ match: 'key:*', count: 50 })) for (const key of keys) found.add(key);
    expect(found.size).toBe(500);
  });

  test('reads INFO', async () => {
    expect(await redis.info('server')).toMatch(/redis_version:\d/);
  });

  test('authenticates', async () => {
    const friend = new Redis({ port: guarded.port, host: '127.0.0.1', password: PASSWORD, lazyConnect: true });
    await friend.connect();
    expect(await friend.ping()).toBe('PONG');
    friend.disconnect();
  });
});

describe.each([
  ['node-redis 5, RESP2', createClient5, 2],
  ['node-redis 5, RESP3', createClient5, 3],
  ['node-redis 6, RESP2', createClient6 as unknown as typeof createClient5, 2],
  ['node-redis 6, RESP3', createClient6 as unknown as typeof createClient5, 3],
] as const)('%s', (_, createClient, protocol) => {
  let client: ReturnType<typeof createClient5>;
  beforeEach(async () => {
    client = createClient({
      RESP: protocol,
      socket: { port: server.port, host: '127.0.0.1', reconnectStrategy: false },
    }) as ReturnType<typeof createClient5>;
    await client.connect();
    await client.flushAll();
  });
  afterEach(() => client.destroy());

  test('counts', async () => {
    expect(await client.incr('a')).toBe(1);
    expect(await client.decrBy('a', 5)).toBe(-4);
    expect(await client.get('a')).toBe('-4');
    expect(await client.mGet(['a', 'none'])).toEqual(['-4', null]);
  });

  test('pipelines the commands of one turn', async () => {
    const replies = await Promise.all(Array.from({ length: 1000 }, () => client.incr('a')));
    expect(replies.at(-1)).toBe(1000);
  });

  test('runs transactions', async () => {
    expect(await client.multi().incr('a').expire('a', 100).ttl('a').exec()).toEqual([1, 1, 100]);
  });

  test('shows errors as they are', async () => {
    await expect(client.sendCommand(['SET', 'a', 'text'])).rejects.toThrow('NOTINTEGER the value is refused');
    await expect(client.sendCommand(['ZADD', 'z', '1', 'm'])).rejects.toThrow(/ERR unknown command 'ZADD'/);
  });

  test('a client-side cache is refused at connect, and nothing old is shown', async () => {
    if (protocol === 2) return;
    const cached = createClient({
      RESP: 3,
      clientSideCache: { ttl: 0, maxEntries: 0 },
      socket: { port: server.port, host: '127.0.0.1', reconnectStrategy: false },
    });
    cached.on('error', () => {});
    await expect(cached.connect()).rejects.toThrow('NOTSUPPORTED CLIENT TRACKING is not supported');
  });

  test('scans', async () => {
    for (let key = 0; key < 200; key++) await client.set(`key:${key}`, String(key));
    const found = new Set<string>();
    for await (const keys of client.scanIterator({ MATCH: 'key:*', COUNT: 20 })) for (const key of keys) found.add(key);
    expect(found.size).toBe(200);
  });

  test('authenticates', async () => {
    const friend = createClient({
      RESP: protocol,
      password: PASSWORD,
      socket: { port: guarded.port, host: '127.0.0.1', reconnectStrategy: false },
    });
    await friend.connect();
    expect(await friend.ping()).toBe('PONG');
    friend.destroy();
  });
});
