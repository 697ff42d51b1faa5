import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { QUOTADB_BINARY, startTestServer, TestClient, type TestServer } from '@quotadb/server/testing';
import { describeWithRedis, type RedisServer, startRedis } from '@quotadb/wire/testing';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { progressBar } from '../terminal/progress.js';

const run = promisify(execFile);

describeWithRedis('quotadb import', () => {
  let redis: RedisServer;
  let server: TestServer;
  let source: TestClient;
  let target: TestClient;
  beforeAll(async () => {
    [redis, server] = await Promise.all([startRedis(), startTestServer()]);
    [source, target] = await Promise.all([TestClient.open(redis.port), TestClient.open(server.port)]);
  });
  afterEach(async () => {
    await Promise.all([source.call('FLUSHALL'), target.call('FLUSHALL')]);
  });
  afterAll(async () => {
    source.close();
    target.close();
    await Promise.all([redis.stop(), server.stop()]);
  });

  const imported = async (...flags: string[]) => {
    const words = ['import', '--from', `127.0.0.1:${redis.port}`, '--resp', String(server.port), '--json', ...flags];
    return JSON.parse((await run(process.execPath, [QUOTADB_BINARY, ...words])).stdout) as Record<string, number>;
  };

  test('copies values, expiries and keys of any bytes, lists the rest, and leaves the source unchanged', async () => {
    const odd = '\x00\xff\r\n"';
    await source.call('SET', 'total', '-9223372036854775808');
    await source.call('SET', odd, 3);
    await source.call('SET', 'minute', 7, 'PX', 60_000);
    await source.call('SET', 'text', 'hello');
    await source.call('SET', 'padded', '007');
    await source.call('LPUSH', 'list', 1);
    expect(await imported()).toEqual({
      counters: 3,
      expiring: 1,
      otherKinds: 1,
      noIntegers: 2,
      tooLong: 0,
      outOfRange: 0,
    });
    expect(await target.call('MGET', 'total', odd, 'minute', 'text')).toBe(
      '*4\r\n$20\r\n-9223372036854775808\r\n$1\r\n3\r\n$1\r\n7\r\n$-1\r\n',
    );
    const leftMs = Number((await target.call('PTTL', 'minute')).slice(1));
    expect(leftMs).toBeGreaterThan(0);
    expect(leftMs).toBeLessThanOrEqual(60_000);
    expect(await target.call('PTTL', 'total')).toBe(':-1\r\n');
    expect(await source.call('DBSIZE')).toBe(':6\r\n');
  });

  test('thousands of keys come whole, can be copied again, and a pattern leaves out the others', async () => {
    for (let from = 0; from < 5000; from += 1000) {
      const pairs = Array.from({ length: 1000 }, (_, index) => [`hits:${from + index}`, from + index]).flat();
      await source.call('MSET', ...pairs);
    }
    await source.call('SET', 'other', 1);
    for (let round = 0; round < 2; round++)
      expect(await imported('--match', 'hits:*')).toMatchObject({ counters: 5000 });
    expect(await target.call('DBSIZE')).toBe(':5000\r\n');
    expect(await target.call('GET', 'hits:4321')).toBe('$4\r\n4321\r\n');
  });

  test('--add leaves what was counted here since, keeps an expiry that runs, and does not leave 64 bits', async () => {
    await source.call('MSET', 'total', 40, 'minute', 5, 'full', 1);
    await source.call('PEXPIRE', 'minute', 60_000);
    await target.call('MSET', 'total', 2, 'full', '9223372036854775807');
    await target.call('SET', 'minute', 1, 'EX', 10);
    await expect(imported('--add')).rejects.toMatchObject({
      code: 1,
      stdout: expect.stringContaining('"counters":2,"expiring":1'),
    });
    expect(await target.call('MGET', 'total', 'minute', 'full')).toBe(
      '*3\r\n$2\r\n42\r\n$1\r\n6\r\n$19\r\n9223372036854775807\r\n',
    );
    expect(Number((await target.call('PTTL', 'minute')).slice(1))).toBeLessThanOrEqual(10_000);
  });

  test('--dry-run writes nothing', async () => {
    await source.call('SET', 'total', 1);
    expect(await imported('--dry-run')).toMatchObject({ counters: 1 });
    expect(await target.call('DBSIZE')).toBe(':0\r\n');
  });

  test('ends with 3 when the source cannot be reached', async () => {
    const words = ['import', '--from', '127.0.0.1:1', '--resp', String(server.port)];
    await expect(run(process.execPath, [QUOTADB_BINARY, ...words])).rejects.toMatchObject({ code: 3 });
  });
});

test('a bar shows how much is done and how long the rest takes', () => {
  expect(progressBar(1500, 3000, 2000)).toBe(`${'█'.repeat(15)}${'░'.repeat(15)} 50 % (1,500 of 3,000, 2 s left)`);
  expect(progressBar(0, 0, 0)).toBe(`${'█'.repeat(30)} 100 % (0 of 0)`);
});
