import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { LocalShare } from './local-share.js';
import { Quota } from './quota.js';
import { ModelServer } from './testing/model-server.js';

beforeEach(() => {
  vi.useFakeTimers({ now: 1_763_251_200_000, toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'] });
});
afterEach(() => {
  vi.useRealTimers();
});

function randomFrom(seed: number): () => number {
  let state = seed | 1;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

interface Schedule {
  readonly seed: number;
  readonly limit: number;
  readonly windowMs: number;
  readonly skewMs: number;
  readonly slowestMs: number;
  readonly lossRate: number;
  readonly stalenessMs: number;
  readonly processShare: number;
  readonly killRate: number;
}

const PROCESSES = 4;
const STEPS = 200;
/** Now and then nothing happens for longer than any reservation holds. */
const LONG_PAUSE_MS = 11_000;
const LONG_PAUSE_RATE = 0.01;

/**
 * Processes that take as they like, are killed and started anew, over a network that loses and delays. Admissions
 * without the server are noted in the window that the server's clock has at that very moment.
 */
async function run(schedule: Schedule) {
  const random = randomFrom(schedule.seed);
  const server = new ModelServer({ ...schedule, random });
  const local = new Map<number, number>();
  const start = () => {
    const client = server.connect();
    const { processShare, stalenessMs } = schedule;
    return { client, quota: new Quota({ client, name: 'calls', whenAway: 'closed', processShare, stalenessMs }) };
  };
  const processes = Array.from({ length: PROCESSES }, start);
  for (let step = 0; step < STEPS; step++) {
    const index = Math.floor(random() * PROCESSES);
    if (random() < schedule.killRate) {
      processes[index]!.client.kill();
      processes[index] = start();
    }
    const { quota } = processes[index]!;
    const burst = 1 + Math.floor(random() * 20);
    for (let request = 0; request < burst; request++) {
      const cost = random() < 0.9 ? 1 : 1 + Math.floor(random() * 4);
      const known = quota.tryTake('alice', cost);
      if (known?.success) local.set(server.window, (local.get(server.window) ?? 0) + cost);
      if (known === undefined) void quota.take('alice', cost);
    }
    const pauseMs = random() < LONG_PAUSE_RATE ? LONG_PAUSE_MS : random() * 15;
    await vi.advanceTimersByTimeAsync(Math.floor(pauseMs));
  }
  const admittedHere = [...local.values()].reduce((sum, amount) => sum + amount, 0);
  return { server, local, processes, admittedHere };
}

const schedules = fc.record({
  seed: fc.nat(),
  limit: fc.integer({ min: 5, max: 500 }),
  windowMs: fc.constantFrom(50, 130, 500, 3_600_000),
  skewMs: fc.integer({ min: -100_000, max: 100_000 }),
  slowestMs: fc.constantFrom(1, 10, 60),
  lossRate: fc.constantFrom(0, 0.05, 0.3),
  stalenessMs: fc.constantFrom(20, 100, 250),
  processShare: fc.constantFrom(0.05, 0.3, 1),
  killRate: fc.constantFrom(0, 0.05),
});

describe('whatever is lost, late or killed', () => {
  test('no window ever admits more than the limit, by the clock of the server', async () => {
    let admittedHere = 0;
    await fc.assert(
      fc.asyncProperty(schedules, async (schedule) => {
        const { server, local, admittedHere: admitted } = await run(schedule);
        admittedHere += admitted;
        for (const window of new Set([...local.keys(), ...server.decided.keys()])) {
          const all = (local.get(window) ?? 0) + (server.decided.get(window) ?? 0);
          expect(all).toBeLessThanOrEqual(schedule.limit);
        }
        vi.clearAllTimers();
      }),
      { numRuns: 25 },
    );
    // It is of no use to be exact by never answering.
    expect(admittedHere).toBeGreaterThan(500);
  }, 120_000);

  test('without losses, what was not spent is back when the processes stop: not one is missing', async () => {
    await fc.assert(
      fc.asyncProperty(schedules, async (given) => {
        const schedule = { ...given, windowMs: 3_600_000, lossRate: 0, killRate: 0 };
        const { server, local, processes } = await run(schedule);
        const stopped = Promise.all(processes.map(({ quota }) => quota.close()));
        await vi.advanceTimersByTimeAsync(1_000);
        await stopped;
        expect(server.outstanding).toBe(0);
        for (const [window, taken] of server.taken) {
          expect(taken).toBe((local.get(window) ?? 0) + (server.decided.get(window) ?? 0));
        }
        vi.clearAllTimers();
      }),
      { numRuns: 20 },
    );
  }, 120_000);
});

test('tokens that are not used any more go back within twice the staleness', async () => {
  const server = new ModelServer({
    ...{ limit: 1_000, windowMs: 3_600_000, skewMs: 0, slowestMs: 1, lossRate: 0 },
    random: randomFrom(1),
  });
  const quota = new Quota({ client: server.connect(), name: 'calls', whenAway: 'closed', stalenessMs: 100 });
  for (let request = 0; request < 9; request++) {
    void quota.take('alice');
    await vi.advanceTimersByTimeAsync(5);
  }
  expect(server.outstanding).toBeGreaterThan(0);
  await vi.advanceTimersByTimeAsync(200);
  expect(server.outstanding).toBe(0);
  expect(server.taken.get(server.window)).toBe(9);
});

test('a machine that slept does not spend what it held before', async () => {
  const server = new ModelServer({
    ...{ limit: 1_000, windowMs: 60_000, skewMs: 0, slowestMs: 1, lossRate: 0 },
    random: randomFrom(1),
  });
  const quota = new Quota({ client: server.connect(), name: 'calls', whenAway: 'closed', stalenessMs: 100 });
  for (let request = 0; request < 9; request++) {
    void quota.take('alice');
    await vi.advanceTimersByTimeAsync(5);
  }
  expect(quota.tryTake('alice')?.success).toBe(true);
  // The clock on the wall goes on, performance.now does not.
  vi.setSystemTime(Date.now() + 3_600_000);
  expect(quota.tryTake('alice')).toBeUndefined();
});

test('a window ends when it ends at the server, however long the word of it was on its way', () => {
  const cell = new LocalShare('alice');
  const askedAtMs = performance.now();
  vi.advanceTimersByTime(50);
  const standing = { remainingHere: 90, remainingEverywhere: 90, resetAfterMs: 60, retryAfterMs: 0 };
  cell.hold({ allowed: true, reservation: 'r', ...standing }, 10, askedAtMs, 1_000);
  vi.advanceTimersByTime(9);
  expect(cell.take(1, performance.now())).toBe(true);
  vi.advanceTimersByTime(1);
  expect(cell.take(1, performance.now())).toBe(false);
});

test('a changed limit is known within seconds, and no request waits for it', async () => {
  const server = new ModelServer({
    ...{ limit: 10, windowMs: 3_600_000, skewMs: 0, slowestMs: 1, lossRate: 0 },
    random: randomFrom(1),
  });
  const quota = new Quota({ client: server.connect(), name: 'calls', whenAway: 'closed' });
  const limits: number[] = [];
  const take = async () => {
    void quota.take('alice').then(({ limit }) => limits.push(limit));
    await vi.advanceTimersByTimeAsync(5_500);
  };
  await take();
  server.options = { ...server.options, limit: 20 };
  for (let request = 0; request < 3; request++) await take();
  expect(limits).toEqual([10, 10, 10, 20]);
});
