import { ByteInput, Engine } from '@quotadb/engine';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { IDLE_TICK_MS, Pacemaker, restAfter, SPARING_REST_MS } from './pacemaker.js';

const INTERVAL_MS = 10;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function makeEngine(): Engine {
  const origin = new Uint8Array(32).fill(1);
  return Engine.format({ maxMemoryBytes: 4 * 1024 * 1024, origin, nowMs: Date.now(), shardCount: 1 });
}

function increment(engine: Engine): void {
  engine.open(ByteInput.copyOf(Buffer.from('key')), 0, 3);
  engine.add(0, 1);
  engine.close();
}

/** How often it ticks in a second in which something changes every millisecond, where a tick takes so long. */
function ticksInASecond(tickMs: number): number {
  const engine = makeEngine();
  let ticks = 0;
  let spentMs = 0;
  const pacemaker = new Pacemaker({
    engine,
    intervalMs: INTERVAL_MS,
    monotonicMs: () => Date.now() + spentMs,
    tick: () => {
      ticks++;
      spentMs += tickMs;
      return false;
    },
  });
  pacemaker.start();
  for (let ms = 0; ms < 1000; ms++) {
    increment(engine);
    vi.advanceTimersByTime(1);
  }
  pacemaker.stop();
  return ticks;
}

test('rests four times as long as a long tick took, and longer after a short one', () => {
  expect([0, 0.1, 1, 5, 10].map(restAfter)).toEqual([0, 2.4000000000000004, SPARING_REST_MS, SPARING_REST_MS, 40]);
});

test('ticks at every beat while that is cheap, and less often where it is not', () => {
  expect(ticksInASecond(0)).toBeGreaterThan(95);
  expect(ticksInASecond(1)).toBeGreaterThan(30);
  expect(ticksInASecond(1)).toBeLessThan(55);
  expect(ticksInASecond(20)).toBeLessThan(20);
});

test('where nothing changes it says now and then that it is there', () => {
  let ticks = 0;
  const pacemaker = new Pacemaker({
    engine: makeEngine(),
    intervalMs: INTERVAL_MS,
    monotonicMs: () => Date.now(),
    tick: () => {
      ticks++;
      return false;
    },
  });
  pacemaker.start();
  vi.advanceTimersByTime(20 * IDLE_TICK_MS);
  pacemaker.stop();
  expect(ticks).toBeGreaterThanOrEqual(18);
  expect(ticks).toBeLessThanOrEqual(22);
});
