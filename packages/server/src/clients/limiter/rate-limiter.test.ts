import {
  type CallOptions,
  ConnectionError,
  QuotadbClient,
  type RateBackend,
  type RateDecision,
  RateLimiter,
  type RateLimiterOptions,
} from '@quotadb/client';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../../testing/index.js';

/** A window that no test is in at its end: from 2004 to 2039. */
const LONG_MS = 2 ** 40;

let server: TestServer;
let client: QuotadbClient<number>;
beforeAll(async () => {
  server = await startTestServer();
  client = QuotadbClient.open({ port: server.port });
  await client.ping();
});
afterAll(async () => {
  await client.close();
  await server.stop();
});

/** Counts what goes to the server, and can be made to be away. */
class WatchedBackend implements RateBackend {
  prefix = '';
  asked = 0;
  told: number[] = [];
  away: 'no' | 'not sent' | 'sent' | 'known' = 'no';

  get isAway(): boolean {
    return this.away === 'known';
  }

  async rateLimit(key: string, limit: number, windowMs: number, cost: number, options?: CallOptions) {
    this.asked++;
    return this.pass(() => client.rateLimit(key, limit, windowMs, cost, options));
  }

  async rateAdd(key: string, limit: number, windowMs: number, amount: number, options?: CallOptions) {
    this.told.push(amount);
    return this.pass(() => client.rateAdd(key, limit, windowMs, amount, options));
  }

  private pass(call: () => Promise<RateDecision>): Promise<RateDecision> {
    if (this.away === 'no') return call();
    return Promise.reject(new ConnectionError('away', this.away === 'sent'));
  }
}

const limiters: RateLimiter[] = [];
afterEach(async () => {
  await Promise.all(limiters.splice(0).map((limiter) => limiter.close()));
});

let tests = 0;
function make(options: Partial<RateLimiterOptions> & { readonly limit: number }) {
  const backend = new WatchedBackend();
  const prefix = `limiter ${++tests}:`;
  backend.prefix = prefix;
  const make = (client: RateBackend) =>
    new RateLimiter({ client, windowMs: LONG_MS, whenAway: 'closed', prefix, stalenessMs: 60_000, ...options });
  const limiter = make(backend);
  limiters.push(limiter);
  const counted = async (key = 'k') => {
    const peeked = await client.ratePeek(prefix + key, options.limit, options.windowMs ?? LONG_MS);
    return options.limit - peeked.remaining;
  };
  return { limiter, backend, counted, another: () => make(new WatchedBackend()) };
}

describe('the tier in the process', () => {
  test('the first request asks the server; the next are answered here, and told later, together', async () => {
    const { limiter, backend, counted } = make({ limit: 1_000 });
    expect(limiter.tryLimit('k')).toBeUndefined();
    expect(await limiter.limitFor('k')).toMatchObject({
      success: true,
      limit: 1_000,
      remaining: 999,
      reason: 'within',
    });
    for (let count = 1; count <= 50; count++) {
      expect(limiter.tryLimit('k')).toMatchObject({ success: true, remaining: 999 - count });
    }
    expect(backend.asked).toBe(1);
    expect(backend.told).toEqual([]);
    expect(await counted()).toBe(1);
    await limiter.flush();
    expect(backend.told).toEqual([50]);
    expect(await counted()).toBe(51);
  });

  test('it admits its share of what remains by itself, and asks for more', async () => {
    const { limiter, backend } = make({ limit: 100, processShare: 0.2 });
    await limiter.limitFor('k');
    let local = 0;
    while (limiter.tryLimit('k') !== undefined) local++;
    expect(local).toBe(Math.floor(99 * 0.2));
    expect((await limiter.limitFor('k')).remaining).toBe(99 - local - 1);
    // All that was admitted here is told before the server decides.
    expect(backend.told).toEqual([local]);
  });

  test('alone it admits exactly the limit', async () => {
    const { limiter, counted } = make({ limit: 257 });
    let admitted = 0;
    for (let attempt = 0; attempt < 400; attempt++) if ((await limiter.limitFor('k')).success) admitted++;
    expect(admitted).toBe(257);
    await limiter.flush();
    expect(await counted()).toBe(257);
  });

  test.each([0, 0.01, 0.1])(
    'ten processes with a share of %s admit together at most ten shares too much, and all of it is told',
    async (processShare) => {
      const limit = 500;
      const { limiter, backend, another } = make({ limit, processShare });
      const processes = [limiter, ...Array.from({ length: 9 }, another)];
      let admitted = 0;
      let seed = 7;
      for (let attempt = 0; attempt < 3_000; attempt++) {
        seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
        if ((await processes[(seed >>> 16) % 10]!.limitFor('k')).success) admitted++;
      }
      await Promise.all(processes.map((each) => each.close()));
      expect(admitted).toBeGreaterThanOrEqual(limit);
      expect(admitted).toBeLessThanOrEqual(limit * (1 + 10 * processShare));
      const [, counted] = (await client.send(['RATE.CELLS', `${backend.prefix}k`, LONG_MS])) as number[];
      expect(counted).toBe(admitted);
    },
  );

  test('a key that is denied stays denied here, without a word to the server', async () => {
    const { limiter, backend } = make({ limit: 2 });
    await limiter.limitFor('k', 2);
    expect(await limiter.limitFor('k')).toMatchObject({ success: false, remaining: 0, reason: 'limited' });
    const asked = backend.asked;
    for (let attempt = 0; attempt < 100; attempt++) {
      const denied = limiter.tryLimit('k');
      expect(denied).toMatchObject({ success: false, reason: 'limited' });
      expect(denied!.retryAfterMs).toBeGreaterThan(0);
    }
    expect(backend.asked).toBe(asked);
  });

  test('a small request may pass where a large one was denied', async () => {
    const { limiter } = make({ limit: 10 });
    await limiter.limitFor('k', 8);
    expect((await limiter.limitFor('k', 5)).success).toBe(false);
    expect(limiter.tryLimit('k', 6)).toMatchObject({ success: false });
    expect((await limiter.limitFor('k', 2)).success).toBe(true);
  });

  test('what is denied for good says so', async () => {
    const { limiter } = make({ limit: 10 });
    expect(await limiter.limitFor('k', 11)).toMatchObject({ success: false, retryAfterMs: -1 });
  });

  test('after as long as it says, a denied key is admitted', async () => {
    const { limiter } = make({ limit: 5, windowMs: 100 });
    let denied = await limiter.limitFor('k', 5);
    while (denied.success) denied = await limiter.limitFor('k', 5);
    await new Promise((resolve) => setTimeout(resolve, denied.retryAfterMs));
    while (!(await limiter.limitFor('k', 1)).success);
  });

  test('what is older than the staleness is not gone on from', async () => {
    const { limiter, backend } = make({ limit: 1_000, stalenessMs: 20 });
    await limiter.limitFor('k');
    await new Promise((resolve) => setTimeout(resolve, 25));
    expect(limiter.tryLimit('k')).toBeUndefined();
    await limiter.limitFor('k');
    expect(backend.asked).toBe(2);
  });

  test('what was admitted is told by itself within the staleness', async () => {
    const { limiter, backend, counted } = make({ limit: 1_000, stalenessMs: 40 });
    await limiter.limitFor('k');
    expect(limiter.tryLimit('k', 7)).toBeDefined();
    while ((await counted()) !== 8);
    expect(backend.told).toEqual([7]);
  });

  test('what others counted is never told: only what was admitted here', async () => {
    const { limiter, backend, another } = make({ limit: 1_000 });
    const other = another();
    await other.limitFor('k', 300);
    await limiter.limitFor('k', 1);
    limiter.tryLimit('k', 2);
    await limiter.flush();
    await limiter.flush();
    expect(backend.told).toEqual([2]);
    await other.close();
  });

  test('keys are remembered up to a bound, and what a forgotten one admitted is told all the same', async () => {
    const { limiter, backend } = make({ limit: 1_000, maxKeys: 3 });
    await limiter.limitFor('first');
    limiter.tryLimit('first', 5);
    for (const key of ['a', 'b', 'c', 'd']) await limiter.limitFor(key);
    expect(limiter.tryLimit('first')).toBeUndefined();
    await limiter.flush();
    expect(backend.told).toEqual([5]);
  });

  test('keys count apart', async () => {
    const { limiter } = make({ limit: 1 });
    expect((await limiter.limitFor('a')).success).toBe(true);
    expect((await limiter.limitFor('b')).success).toBe(true);
    expect((await limiter.limitFor('a')).success).toBe(false);
  });
});

describe('while the server is away', () => {
  test.each(['not sent', 'sent', 'known'] as const)('%s: "open" lets everything pass', async (away) => {
    const { limiter, backend } = make({ limit: 1, whenAway: 'open' });
    backend.away = away;
    for (let attempt = 0; attempt < 5; attempt++) {
      expect(await limiter.limitFor('k')).toMatchObject({ success: true, reason: 'away' });
    }
  });

  test('"closed" lets nothing pass', async () => {
    const { limiter, backend } = make({ limit: 100, whenAway: 'closed' });
    backend.away = 'known';
    const denied = await limiter.limitFor('k');
    expect(denied).toMatchObject({ success: false, remaining: 0, reason: 'away' });
    expect(denied.retryAfterMs).toBeGreaterThan(0);
  });

  test('a share admits that part of the limit, for each key', async () => {
    const { limiter, backend } = make({ limit: 100, whenAway: { share: 0.25 } });
    backend.away = 'known';
    for (const key of ['a', 'b']) {
      let admitted = 0;
      for (let attempt = 0; attempt < 60; attempt++) if ((await limiter.limitFor(key)).success) admitted++;
      expect(admitted).toBe(25);
    }
  });

  test('what was admitted meanwhile is told when the server is back', async () => {
    const { limiter, backend, counted } = make({ limit: 100, whenAway: { share: 0.1 } });
    backend.away = 'not sent';
    for (let attempt = 0; attempt < 20; attempt++) await limiter.limitFor('k');
    await limiter.flush();
    backend.away = 'no';
    await limiter.flush();
    expect(await counted()).toBe(10);
  });

  test('what may have arrived is not told twice', async () => {
    const { limiter, backend, counted } = make({ limit: 1_000 });
    await limiter.limitFor('k');
    limiter.tryLimit('k', 5);
    backend.away = 'sent';
    await limiter.flush();
    backend.away = 'no';
    await limiter.flush();
    expect(backend.told).toEqual([5]);
    expect(await counted()).toBe(1);
  });

  test('what was admitted in a window that is over is not charged to the current one', async () => {
    const { limiter, backend, counted } = make({ limit: 100, windowMs: 30, whenAway: 'open' });
    backend.away = 'known';
    await limiter.limitFor('k', 50);
    await new Promise((resolve) => setTimeout(resolve, 35));
    backend.away = 'no';
    await limiter.flush();
    expect(backend.told).toEqual([]);
    expect(await counted()).toBe(0);
  });

  test('a server that refuses a request is no server that is away', async () => {
    const { limiter } = make({ limit: 100, whenAway: 'open' });
    await expect(limiter.limitFor('k'.repeat(70_000))).rejects.toThrow('key is too long');
  });
});

test('a client that is still connecting for the first time is waited for', async () => {
  const fresh = QuotadbClient.open({ port: server.port });
  const limiter = new RateLimiter({ client: fresh, limit: 5, windowMs: LONG_MS, whenAway: 'closed', prefix: 'fresh:' });
  expect(fresh.isReady).toBe(false);
  expect(await limiter.limitFor('k')).toMatchObject({ success: true, reason: 'within' });
  await limiter.close();
  await fresh.close();
});

test('a client that has no server is away at once, after the first attempt', async () => {
  const gone = await startTestServer();
  await gone.stop();
  const lost = QuotadbClient.open({ port: gone.port });
  const limiter = new RateLimiter({ client: lost, limit: 5, windowMs: LONG_MS, whenAway: 'open' });
  expect(await limiter.limitFor('k')).toMatchObject({ success: true, reason: 'away' });
  expect(lost.isAway).toBe(true);
  await lost.close();
});

test.each([{ limit: -1 }, { limit: 1.5 }, { limit: 1, windowMs: 0 }, { limit: 1, whenAway: { share: 2 } }])(
  '%j is refused',
  (options) => {
    expect(() => make(options)).toThrow(RangeError);
  },
);

test.each([-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])(
  'a cost of %s is refused, and changes nothing',
  async (cost) => {
    const { limiter, counted } = make({ limit: 100 });
    await limiter.limitFor('k');
    expect(() => limiter.tryLimit('k', cost)).toThrow(RangeError);
    await expect(limiter.limitFor('k', cost)).rejects.toThrow(RangeError);
    expect(limiter.tryLimit('k')).toMatchObject({ success: true, remaining: 98 });
    await limiter.flush();
    expect(await counted()).toBe(2);
  },
);

test('while the server is away no more keys are remembered than may be, and nothing is sent', async () => {
  const { limiter, backend } = make({ limit: 10, whenAway: { share: 0.5 }, maxKeys: 3 });
  backend.away = 'known';
  const outcomes = [];
  for (const key of ['a', 'b', 'c', 'd', 'a']) outcomes.push((await limiter.limitFor(key)).success);
  expect(outcomes).toEqual([true, true, true, false, true]);
  await limiter.flush();
  expect(backend.told).toEqual([]);
  backend.away = 'no';
  await limiter.flush();
  expect(backend.told.sort()).toEqual([1, 1, 2]);
});
