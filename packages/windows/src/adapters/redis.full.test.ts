import { describeWithRedis, type RedisServer, startRedis } from '@quotadb/wire/testing';
import { Redis } from 'ioredis';
import { Redis as Redis6 } from 'ioredis6';
import { createClient } from 'redis';
import { createClient as createClient6 } from 'redis6';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeWindowCounterStore } from '../conformance/index.js';
import { fixedWindowAt } from '../window/window.js';
import { RedisWindowStore } from './redis.js';
import type { RedisClient } from './redis-client.js';

const KEPT_FOR_MS = 50;

interface OpenClient {
  readonly client: RedisClient;
  readonly close: () => void;
}

const openers: Record<string, (port: number) => OpenClient | Promise<OpenClient>> = {
  'ioredis 5': (port) => {
    const client = new Redis(port).on('error', () => undefined);
    return { client, close: () => client.disconnect() };
  },
  'ioredis 6': (port) => {
    const client = new Redis6(port).on('error', () => undefined);
    return { client, close: () => client.disconnect() };
  },
  'node-redis 5': async (port) => {
    const client = await createClient({ socket: { port } })
      .on('error', () => undefined)
      .connect();
    return { client, close: () => client.destroy() };
  },
  'node-redis 6': async (port) => {
    const client = await createClient6({ socket: { port } })
      .on('error', () => undefined)
      .connect();
    return { client, close: () => client.destroy() };
  },
};

describeWithRedis('on a real Redis', () => {
  for (const [name, open] of Object.entries(openers)) {
    describeWindowCounterStore(`RedisWindowStore with ${name}`, async () => {
      const server = await startRedis();
      const opened: OpenClient[] = [];
      const another = async () => {
        const found = await open(server.port);
        opened.push(found);
        return new RedisWindowStore({ client: found.client, keptForMs: KEPT_FOR_MS });
      };
      const looker = new Redis(server.port);
      return {
        store: await another(),
        another,
        keptForMs: KEPT_FOR_MS,
        // Redis drops an expired key when a client asks for it, or by and by.
        held: async () => (await looker.keys('*')).length,
        breakDown: async () => {
          await looker.call('ACL', 'SETUSER', 'default', '-@all');
        },
        close: async () => {
          looker.disconnect();
          for (const { close } of opened) close();
          await server.stop();
        },
      };
    });
  }

  let server: RedisServer;
  let client: Redis;
  beforeAll(async () => {
    server = await startRedis();
    client = new Redis(server.port);
  });
  afterAll(async () => {
    client?.disconnect();
    await server?.stop();
  });

  test('an increment is one round trip of plain commands, without a script', async () => {
    const watcher = new Redis(server.port);
    const monitor = await watcher.monitor();
    const commands: string[] = [];
    monitor.on('monitor', (_time: string, words: string[]) => commands.push(words[0]!.toUpperCase()));
    const store = new RedisWindowStore({ client });
    await store.increment('key', fixedWindowAt(Date.now(), 60_000));
    await client.ping();
    while (!commands.includes('PING')) await new Promise((resolve) => setTimeout(resolve, 5));
    expect(commands.filter((command) => command !== 'PING')).toEqual(['MULTI', 'INCRBY', 'GET', 'PEXPIREAT', 'EXEC']);
    monitor.disconnect();
    watcher.disconnect();
  });

  test('every count in Redis has an expiry', async () => {
    const store = new RedisWindowStore({ client, prefix: 'mine:' });
    await store.increment('key', fixedWindowAt(Date.now(), 60_000));
    const keys = await client.keys('mine:*');
    expect(keys).toHaveLength(1);
    expect(await client.pttl(keys[0]!)).toBeGreaterThan(0);
  });

  test('a key that holds something else is an error, passed on as Redis gave it', async () => {
    const window = fixedWindowAt(Date.now(), 60_000);
    await client.lpush(`window:${window.durationMs}:${window.startMs}:list`, 'x');
    const store = new RedisWindowStore({ client });
    await expect(store.increment('list', window)).rejects.toThrow('WRONGTYPE');
  });
});
