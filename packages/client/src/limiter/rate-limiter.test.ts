import { afterEach, describe, expect, test, vi } from 'vitest';
import { RateLimiter, type RateLimiterOptions } from './rate-limiter.js';
import { ModelRates } from './testing/model-rates.js';

const LONG_MS = 2 ** 40;

const limiters: RateLimiter[] = [];
afterEach(async () => {
  await Promise.all(limiters.splice(0).map((limiter) => limiter.close()));
  vi.useRealTimers();
});

function make(options: Partial<RateLimiterOptions> & { readonly limit: number }) {
  const backend = new ModelRates();
  const open = (client: ModelRates) => {
    const limiter = new RateLimiter({
      ...{ client, windowMs: LONG_MS, whenAway: 'closed', stalenessMs: 60_000 },
      ...options,
    });
    limiters.push(limiter);
    return limiter;
  };
  return {
    limiter: open(backend),
    backend,
    counted: (key = 'k') => backend.counts.get(key) ?? 0,
    another: () => open(new ModelRates(backend.counts)),
  };
}

describe('the tier in the process', () => {
  test('the first request asks the server; the next are answered here, and reported later, together', async () => {
    const { limiter, backend, counted } = make({ limit: 1_000 });
    expect(limiter.tryLimit('k')).toBeUndefined();
    const first = { success: true, limit: 1_000, remaining: 999, reason: 'within' };
    expect(await limiter.limitFor('k')).toMatchObject(first);
    for (let count = 1; count <= 50; count++) {
      expect(limiter.tryLimit('k')).toMatchObject({ success: true, remaining: 999 - count });
    }
    expect([backend.asked, backend.reported, counted()]).toEqual([1, [], 1]);
    await limiter.flush();
    expect([backend.reported, counted()]).toEqual([[50], 51]);
  });

  test('it admits its share of the remaining amount alone, and reports it before the server decides', async () => {
    const { limiter, backend } = make({ limit: 100, processShare: 0.2 });
    await limiter.limitFor('k');
    let local = 0;
    while (limiter.tryLimit('k') !== undefined) local++;
    expect(local).toBe(Math.floor(99 * 0.2));
    expect((await limiter.limitFor('k')).remaining).toBe(99 - local - 1);
    expect(backend.reported).toEqual([local]);
  });

  test('a denied key stays denied here, without asking the server', async () => {
    const { limiter, backend } = make({ limit: 2 });
    await limiter.limitFor('k', 2);
    expect(await limiter.limitFor('k')).toMatchObject({ success: false, remaining: 0, reason: 'limited' });
    const { asked } = backend;
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

  test('a request above the limit is denied for good', async () => {
    const { limiter } = make({ limit: 10 });
    expect(await limiter.limitFor('k', 11)).toMatchObject({ success: false, retryAfterMs: -1 });
  });

  test('knowledge older than the staleness is not used', async () => {
    vi.useFakeTimers();
    const { limiter, backend } = make({ limit: 1_000, stalenessMs: 20 });
    await limiter.limitFor('k');
    vi.advanceTimersByTime(25);
    expect(limiter.tryLimit('k')).toBeUndefined();
    await limiter.limitFor('k');
    expect(backend.asked).toBe(2);
  });

  test('admissions are reported within the staleness', async () => {
    vi.useFakeTimers();
    const { limiter, backend, counted } = make({ limit: 1_000, stalenessMs: 40 });
    await limiter.limitFor('k');
    expect(limiter.tryLimit('k', 7)).toBeDefined();
    await vi.advanceTimersByTimeAsync(40);
    expect([backend.reported, counted()]).toEqual([[7], 8]);
  });

  test('a process reports its own admissions only', async () => {
    const { limiter, backend, another } = make({ limit: 1_000 });
    await another().limitFor('k', 300);
    await limiter.limitFor('k', 1);
    limiter.tryLimit('k', 2);
    await limiter.flush();
    await limiter.flush();
    expect(backend.reported).toEqual([2]);
  });

  test('keys are remembered up to a bound, and the admissions of a dropped one are reported all the same', async () => {
    const { limiter, backend } = make({ limit: 1_000, maxKeys: 3 });
    await limiter.limitFor('first');
    limiter.tryLimit('first', 5);
    for (const key of ['a', 'b', 'c', 'd']) await limiter.limitFor(key);
    expect(limiter.tryLimit('first')).toBeUndefined();
    await limiter.flush();
    expect(backend.reported).toEqual([5]);
  });

  test('keys count apart', async () => {
    const { limiter } = make({ limit: 1 });
    expect((await limiter.limitFor('a')).success).toBe(true);
    expect((await limiter.limitFor('b')).success).toBe(true);
    expect((await limiter.limitFor('a')).success).toBe(false);
  });
});

describe('while the server is away', () => {
  test.each(['not sent', 'sent', 'known'] as const)('%s: "open" admits every request', async (away) => {
    const { limiter, backend } = make({ limit: 1, whenAway: 'open' });
    backend.away = away;
    for (let attempt = 0; attempt < 5; attempt++) {
      expect(await limiter.limitFor('k')).toMatchObject({ success: true, reason: 'away' });
    }
  });

  test('"closed" denies every request', async () => {
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

  test('admissions of that time are reported when the server is back', async () => {
    const { limiter, backend, counted } = make({ limit: 100, whenAway: { share: 0.1 } });
    backend.away = 'not sent';
    for (let attempt = 0; attempt < 20; attempt++) await limiter.limitFor('k');
    await limiter.flush();
    backend.away = 'no';
    await limiter.flush();
    expect(counted()).toBe(10);
  });

  test('a report that may have arrived is not repeated', async () => {
    const { limiter, backend, counted } = make({ limit: 1_000 });
    await limiter.limitFor('k');
    limiter.tryLimit('k', 5);
    backend.away = 'sent';
    await limiter.flush();
    backend.away = 'no';
    await limiter.flush();
    expect([backend.reported, counted()]).toEqual([[5], 1]);
  });

  test('admissions of a window that is over are not charged to the current one', async () => {
    vi.useFakeTimers();
    const { limiter, backend, counted } = make({ limit: 100, windowMs: 30, whenAway: 'open' });
    backend.away = 'known';
    await limiter.limitFor('k', 50);
    vi.advanceTimersByTime(35);
    backend.away = 'no';
    await limiter.flush();
    expect([backend.reported, counted()]).toEqual([[], 0]);
  });

  test('no more keys are remembered than may be, and no report is sent', async () => {
    const { limiter, backend } = make({ limit: 10, whenAway: { share: 0.5 }, maxKeys: 3 });
    backend.away = 'known';
    const outcomes = [];
    for (const key of ['a', 'b', 'c', 'd', 'a']) outcomes.push((await limiter.limitFor(key)).success);
    expect(outcomes).toEqual([true, true, true, false, true]);
    await limiter.flush();
    expect(backend.reported).toEqual([]);
    backend.away = 'no';
    await limiter.flush();
    expect(backend.reported.sort()).toEqual([1, 1, 2]);
  });
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
    expect(counted()).toBe(2);
  },
);
