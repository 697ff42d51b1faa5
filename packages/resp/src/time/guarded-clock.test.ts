import { expect, test } from 'vitest';
import { GuardedClock } from './guarded-clock.js';

const START_MS = Date.UTC(2026, 0, 1);
const BOUND_MS = 120_000;
const HOUR_MS = 3_600_000;

/** A main thread's clock and a lane's, over one system clock that can be set. */
function makeClocks() {
  const system = { wallMs: START_MS, monotonicMs: 5000 };
  const source = { now: () => system.wallMs, monotonic: () => system.monotonicMs };
  const options = { source, skewBoundMs: BOUND_MS, monotonicMs: () => system.monotonicMs };
  const main = new GuardedClock(options);
  const lane = new GuardedClock({ ...options, shared: main.shared });
  const pass = (ms: number, ...peerClocks: number[]): void => {
    for (let passed = 0; passed < ms; passed += 100) {
      system.wallMs += 100;
      system.monotonicMs += 100;
      if (passed % 1000 === 0) main.follow(peerClocks);
      expect(Math.abs(main.now() - lane.now())).toBeLessThanOrEqual(1);
    }
  };
  return { system, main, lane, pass };
}

test('a jump ahead for some seconds changes nothing, in no thread', () => {
  const { system, main, lane, pass } = makeClocks();
  pass(5000);
  expect([main.now(), lane.now()]).toEqual([START_MS + 5000, START_MS + 5000]);
  for (const jumpMs of [HOUR_MS, 12 * 365 * 24 * HOUR_MS]) {
    const before = main.now();
    system.wallMs += jumpMs;
    expect([main.now(), lane.now()]).toEqual([before, before]);
    pass(10_000);
    expect([main.now(), lane.now()]).toEqual([before + 10_000, before + 10_000]);
    expect(main.jumpMs).toBe(jumpMs);
    system.wallMs -= jumpMs;
    pass(10_000);
    expect([main.now(), lane.now(), main.jumpMs]).toEqual([before + 20_000, before + 20_000, 0]);
  }
});

test('a jump that a peer confirms is followed within a second; one that peers deny is not', () => {
  const { system, main, pass } = makeClocks();
  const rightMs = START_MS - 5000;
  system.wallMs += HOUR_MS;
  pass(600_000, rightMs, rightMs + 50);
  expect(main.now()).toBe(START_MS + 600_000);
  pass(2000, rightMs, rightMs + HOUR_MS);
  expect([main.now(), main.jumpMs]).toEqual([START_MS + HOUR_MS + 602_000, 0]);
});

test('without peers a jump is followed when it has lasted a minute, also after one that did not', () => {
  const { system, main, pass } = makeClocks();
  system.wallMs += HOUR_MS;
  pass(50_000);
  system.wallMs -= HOUR_MS;
  pass(5000);
  system.wallMs += HOUR_MS;
  pass(50_000);
  expect(main.now()).toBe(START_MS + 105_000);
  pass(15_000);
  expect(main.now()).toBe(START_MS + HOUR_MS + 120_000);
});

test('steps within the bound, a clock that goes back, and a thread that was held up are followed at once', () => {
  const { system, main, lane, pass } = makeClocks();
  system.wallMs += BOUND_MS;
  expect([main.now(), lane.now()]).toEqual([system.wallMs, system.wallMs]);
  pass(1000);
  system.wallMs -= HOUR_MS;
  expect([main.now(), lane.now()]).toEqual([system.wallMs, system.wallMs]);
  pass(1000);
  system.wallMs += HOUR_MS;
  system.monotonicMs += HOUR_MS;
  expect([main.now(), lane.now()]).toEqual([system.wallMs, system.wallMs]);
});
