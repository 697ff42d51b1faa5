import { QuotadbClient, ReplyError } from '@quotadb/client';
import { CELL_MARGIN_MS } from '@quotadb/rate';
import { QuotadbWindowStore } from '@quotadb/windows';
import { describeWindowCounterStore } from '@quotadb/windows/conformance';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';

import { spawnServer, startTestServer, type TestServer } from '../testing/index.js';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

const clients: QuotadbClient<number | bigint>[] = [];
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
});
function opened<Integer extends number | bigint>(client: QuotadbClient<Integer>): QuotadbClient<Integer> {
  clients.push(client as unknown as QuotadbClient<number | bigint>);
  return client;
}

let keys = 0;
const freshKey = () => `key:${++keys}`;

describe('commands', () => {
  test('count, read, set and delete', async () => {
    const client = opened(QuotadbClient.open({ port: server.port }));
    const [one, other] = [freshKey(), freshKey()];
    expect(await client.increment(one)).toBe(1);
    expect(await client.increment(one, 41)).toBe(42);
    expect(await client.decrement(one, 2)).toBe(40);
    expect(await client.incrementExpiring(other, 3, 100)).toBe(3);
    expect(await client.getMany([one, other, 'none'])).toEqual([40, 3, undefined]);
    await client.set(one, -7);
    expect(await client.get(one)).toBe(-7);
    expect(await client.delete([one, other, 'none'])).toBe(2);
    expect(await client.get(one)).toBeUndefined();
    await client.ping();
  });

  test('count in windows and against limits', async () => {
    const client = opened(QuotadbClient.open(`quotadb://127.0.0.1:${server.port}`));
    const key = freshKey();
    const counted = await client.windowIncrement(key, 3_600_000, 5);
    expect(counted.endMs - counted.startMs).toBe(3_600_000);
    expect(await client.windowRead(key, 3_600_000, { startMs: counted.startMs })).toEqual(counted);
    expect(await client.rateLimit(key, 10, 3_600_000, 4)).toMatchObject({ allowed: true, limit: 10, remaining: 6 });
    expect(await client.ratePeek(key, 10, 3_600_000)).toMatchObject({ allowed: true, remaining: 6, retryAfterMs: 0 });
    expect(await client.rateAdd(key, 10, 3_600_000, 9)).toMatchObject({ allowed: false, remaining: 0 });
    const rules = [
      { key: freshKey(), limit: 1, windowMs: 3_600_000 },
      { key, limit: 10, windowMs: 3_600_000 },
    ];
    const several = await client.rateLimitAll(rules);
    expect(several.allowed).toBe(false);
    expect(several.decisions.map(({ allowed }) => allowed)).toEqual([true, false]);
    const bucket = { burst: 1, count: 1, periodMs: 60_000 };
    expect(await client.gcra(key, bucket)).toMatchObject({ allowed: true, limit: 2, remaining: 1 });
    expect(await client.gcra(key, bucket, 2)).toMatchObject({ allowed: false, retryAfterMs: expect.any(Number) });
  });

  test('keys may be any bytes', async () => {
    const client = opened(QuotadbClient.open({ port: server.port }));
    const key = Uint8Array.of(107, 255, 0, 13, 10);
    expect(await client.increment(key, 3)).toBe(3);
    expect(await client.get(Uint8Array.from(key))).toBe(3);
    expect(await client.get('k')).toBeUndefined();
  });

  test('a refusal of the server is a ReplyError with its code', async () => {
    const client = opened(QuotadbClient.open({ port: server.port }));
    const key = freshKey();
    await client.set(key, 2n ** 63n - 1n);
    const error = await client.increment(key).catch((failure: unknown) => failure);
    expect(error).toBeInstanceOf(ReplyError);
    expect((error as ReplyError).code).toBe('ERR');
    await expect(client.send(['NONSENSE'])).rejects.toThrow("unknown command 'NONSENSE'");
  });

  test('digits past 2^53: exact as bigint, an error as number, never another number', async () => {
    const exact = opened(QuotadbClient.open({ port: server.port, integers: 'bigint' }));
    const plain = opened(QuotadbClient.open({ port: server.port }));
    const key = freshKey();
    expect(await exact.increment(key, 2n ** 53n + 1n)).toBe(9007199254740993n);
    expect(await exact.get(key)).toBe(9007199254740993n);
    expect(await exact.getMany([key])).toEqual([9007199254740993n]);
    await expect(plain.get(key)).rejects.toThrow(RangeError);
    await expect(plain.increment(key, 2)).rejects.toThrow("integers: 'bigint'");
    expect(await exact.get(key)).toBe(9007199254740995n);
  });

  test('thousands at once come back each with its own reply', async () => {
    const client = opened(QuotadbClient.open({ port: server.port }));
    const key = freshKey();
    const counts = await Promise.all(Array.from({ length: 20_000 }, () => client.increment(key)));
    expect(counts).toEqual(Array.from({ length: 20_000 }, (_, index) => index + 1));
  });
});

test('a reply that has arrived is read before its command times out, however busy the program was', async () => {
  const elsewhere = spawnServer(['--transport', 'net', '--max-memory', '16mb']);
  const client = opened(QuotadbClient.open({ port: (await elsewhere.ready()).resp, timeoutMs: 200 }));
  await client.ping({ timeoutMs: 10_000 });
  const counted = client.increment(freshKey());
  await new Promise((resolve) => setImmediate(resolve));
  const busyUntilMs = performance.now() + 400;
  while (performance.now() < busyUntilMs);
  expect(await counted).toBe(1);
  await client.close();
  await elsewhere.stop();
});

test('a server with a password takes the right one, refuses a wrong one, and runs no command without one', async () => {
  const guarded = await startTestServer({ password: 'secret' });
  try {
    const right = opened(QuotadbClient.open(`quotadb://:secret@127.0.0.1:${guarded.port}`));
    expect(await right.increment('key')).toBe(1);
    const failure = await new Promise<Error>((resolve) => {
      const given = { port: guarded.port, username: 'default', password: 'guess', onConnectionError: resolve };
      opened(QuotadbClient.open(given));
    });
    expect(failure.message).toContain('WRONGPASS');
    await expect(opened(QuotadbClient.open({ port: guarded.port })).increment('key')).rejects.toThrow('NOAUTH');
  } finally {
    await Promise.all(clients.splice(0).map((client) => client.close()));
    await guarded.stop();
  }
});

describeWindowCounterStore('QuotadbWindowStore with @quotadb/client', async () => {
  const own = await startTestServer();
  const made: QuotadbClient<number>[] = [];
  const another = () => {
    const client = QuotadbClient.open({ port: own.port, reconnectAfterMs: () => undefined });
    made.push(client);
    return new QuotadbWindowStore({ client });
  };
  return {
    store: another(),
    another,
    keptForMs: CELL_MARGIN_MS + 1_000,
    breakDown: () => own.stop(),
    close: async () => {
      await Promise.all(made.map((client) => client.close()));
      await own.stop();
    },
  };
});
